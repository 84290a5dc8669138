// Decides again when a threshold moves, with the rules of the program and the same numbers, and filters
// the list. Everything in the page was written by the program first: this script only rewrites it.
(() => {
"use strict";
const data = JSON.parse(document.getElementById("evidence").textContent);
const own = { alpha: data.alpha, token: data.token, rho: data.rho, rho_answer: data.rho_answer, factuality: data.factuality };
let now = { ...own };
const byId = (id) => document.getElementById(id);

// --- deciding ---

// P(token unsupported | all scores) of a two-state chain that stays with probability `stay`.
function smooth(raw, stay) {
  const clip = (s) => Math.min(Math.max(s, 1e-6), 1 - 1e-6);
  const n = raw.length, forward = new Float64Array(n), smoothed = new Float64Array(n);
  let p = 0.5;
  for (let t = 0; t < n; t++) {
    const s = clip(raw[t]);
    const prior = t === 0 ? 0.5 : (1 - stay) * (1 - p) + stay * p;
    const one = prior * s, zero = (1 - prior) * (1 - s);
    p = one / (one + zero);
    forward[t] = p;
  }
  let one = 1, zero = 1;
  for (let t = n - 1; t >= 0; t--) {
    const f = forward[t];
    smoothed[t] = f * one / (f * one + (1 - f) * zero);
    const s = clip(raw[t]);
    const a = s * one, b = (1 - s) * zero;
    one = stay * a + (1 - stay) * b;
    zero = (1 - stay) * a + stay * b;
    const sum = one + zero;
    one /= sum;
    zero /= sum;
  }
  return smoothed;
}

const highest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const band = (score) => data.edges.filter((edge) => score >= edge).length;
const WORD = 0, BLANK = 2;

// Flagged spans as runs of pieces: { first, end, score } with `end` exclusive.
function spansOf(example, smoothed, threshold) {
  const pieces = example.pieces;
  const runs = [];
  for (let t = 0; t < smoothed.length; t++) {
    if (smoothed[t] < threshold) continue;
    const first = pieces.findIndex((p) => p.tokens[0] <= t && t < p.tokens[1]);
    if (first < 0) continue;
    let end = first;
    while (end < pieces.length && pieces[end].tokens[0] <= t && (t < pieces[end].tokens[1] || end === first)) end++;
    const last = runs[runs.length - 1];
    if (last && pieces.slice(last.end, first).every((p) => p.kind !== WORD)) {
      last.end = Math.max(last.end, end);
      last.score = Math.max(last.score, smoothed[t]);
    } else {
      runs.push({ first, end, score: smoothed[t] });
    }
  }
  for (const run of runs) {
    while (run.first < run.end && pieces[run.first].kind === BLANK) run.first++;
    while (run.first < run.end && pieces[run.end - 1].kind === BLANK) run.end--;
  }
  return runs.filter((run) => run.first < run.end);
}

function decide(example) {
  const trusted = example.chunks.map((p) => p && p[0] * 1000 > now.alpha * p[1]);
  if (!example.raw) return { trusted, smoothed: null, spans: [], score: null };
  const smoothed = smooth(example.raw, now.rho);
  return { trusted, smoothed, spans: spansOf(example, smoothed, now.token), score: highest(smooth(example.raw, now.rho_answer)) };
}

// --- showing ---

function three(value) {
  const shown = value.toFixed(3);
  if (value > 0 && value < 1) {
    if (shown[0] === "1") return "0.999";
    if (Number(shown) === 0) return "<0.001";
  }
  return shown;
}
const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;
const share = (part, whole) => whole === 0 ? `${part} of 0` : `${part} of ${whole} (${(100 * part / whole).toFixed(1)} %)`;
const alphaText = () => `${Math.floor(now.alpha / 1000)}.${String(now.alpha % 1000).padStart(3, "0")}`;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function showAnswer(article, number, example, found) {
  const nodes = [];
  let into = nodes, text = "", label = null, seen = -1;
  const flush = () => {
    if (text === "") return;
    if (label === null) {
      into.push(text);
    } else {
      const span = element("span", { class: "gold" });
      if (label !== seen && label > seen) {
        span.append(element("span", { class: "lx", "aria-label": `labelled span ${label + 1}` }, `L${label + 1}`));
        seen = label;
      }
      span.append(text);
      into.push(span);
    }
    text = "";
  };
  example.pieces.forEach((piece, at) => {
    const index = found.spans.findIndex((span) => span.first === at);
    if (index >= 0) {
      flush();
      const span = found.spans[index], no = index + 1;
      into = [element("a", { class: "ix", href: `#e${number}-s${no}`, "aria-label": `flagged span ${no}, score ${three(span.score)}` }, `[${no}]`)];
    }
    if (piece.label !== label) {
      flush();
      label = piece.label;
    }
    text += piece.text;
    const ends = found.spans.findIndex((span) => span.end === at + 1);
    if (ends >= 0) {
      flush();
      const mark = element("mark", { class: `b${band(found.spans[ends].score)}`, id: `e${number}-m${ends + 1}` }, ...into);
      mark.append(element("span", { class: "vh" }, ` end of span ${ends + 1} `));
      nodes.push(mark);
      into = nodes;
    }
  });
  flush();
  article.querySelector(".answer").replaceChildren(...nodes);
}

function showSpans(article, number, example, found) {
  const before = (index, field) => example.pieces.slice(0, index).reduce((sum, piece) => sum + piece[field], 0);
  const box = article.querySelector(".scroll.spans");
  box.hidden = found.spans.length === 0;
  box.querySelector("tbody").replaceChildren(...found.spans.map((span, at) => {
    const text = [...example.pieces.slice(span.first, span.end).map((piece) => piece.text).join("").replaceAll("\n", "\u240a")];
    const more = text.length - 300;
    const shown = more <= 0 ? text.join("") : `${text.slice(0, 300).join("").trimEnd()}\u2026 [+${count(more, "character", "characters")}]`;
    const number_ = (value) => element("td", { class: "n" }, value);
    const link = element("a", { href: `#e${number}-m${at + 1}`, "aria-label": `flagged span ${at + 1} in the answer` }, `[${at + 1}]`);
    return element("tr", { id: `e${number}-s${at + 1}` }, number_(link), element("td", { lang: "", dir: "auto" }, shown), number_(three(span.score)),
      number_(`${before(span.first, "bytes")}\u2013${before(span.end, "bytes")}`),
      number_(`${before(span.first, "codePoints")}\u2013${before(span.end, "codePoints")}`));
  }));
}

function showScores(article, found) {
  const strip = article.querySelector(".strip");
  const bars = data.edges.map(() => "").concat("");
  found.smoothed.forEach((score, t) => {
    const tall = (40 * score).toFixed(1);
    bars[band(score)] += `M${t} 40v-${tall}h.9v${tall}z`;
  });
  bars.forEach((d, at) => strip.querySelector(`.f${at}`).setAttribute("d", d));
  strip.querySelector(".limit").setAttribute("d", `M0 ${(40 * (1 - now.token)).toFixed(1)}H${found.smoothed.length}`);
  const top = highest(found.smoothed);
  strip.setAttribute("aria-label", `Smoothed score of ${found.smoothed.length} tokens; highest ${three(top)} at token ${found.smoothed.lastIndexOf(top) + 1}; threshold ${now.token}`);
  article.querySelectorAll(".tokens tbody tr").forEach((row, t) => { row.children[3].textContent = three(found.smoothed[t]); });
}

function showOutcome(article, row, found) {
  const flagged = found.spans.length > 0, outcome = flagged ? "flagged" : "clean";
  if (article.dataset.outcome === "error") return;
  article.dataset.outcome = outcome;
  for (const place of [article.querySelector(".state"), row]) {
    const badge = place.querySelector(".badge");
    badge.className = `badge ${outcome}`;
    badge.textContent = outcome;
  }
  article.querySelector(".decision").textContent = (flagged ? `${count(found.spans.length, "span", "spans")} flagged` : "No span flagged") + `; answer score ${three(found.score)}.`;
  row.querySelector(".spans").textContent = found.spans.length;
  row.querySelector(".score").textContent = three(found.score);
}

function showFactuality(article, factuality) {
  if (factuality === null) return;
  const consistent = factuality >= now.factuality;
  article.querySelector(".factuality").textContent = `Factuality ${three(factuality)}, ${consistent ? "at least" : "below"} ${now.factuality}: called ${consistent ? "consistent" : "inconsistent"}.`;
}

function showChunks(article, row, trusted) {
  const total = trusted.length, certified = trusted.filter((t) => t !== null).length, kept = trusted.filter((t) => t === true).length;
  if (certified === 0) return;
  const without = certified < total ? ` ${total - certified} without a p-value.` : "";
  article.querySelector("p.trusted").textContent = `${kept} of ${count(total, "chunk", "chunks")} trusted at alpha ${alphaText()}.${without}`;
  row.querySelector(".trusted").textContent = `${kept} / ${total}`;
  article.querySelectorAll(".chunks tbody").forEach((body, at) => {
    if (trusted[at] === null) return;
    const name = trusted[at] ? "trusted" : "dropped";
    body.className = name;
    const badge = body.querySelector(".badge");
    badge.className = `badge ${name}`;
    badge.textContent = name;
    body.querySelector(".pbar .limit").setAttribute("d", `M${(now.alpha / 10).toFixed(1)} 0v10`);
  });
}

// --- all of it ---

const examples = data.examples.map((example) => ({
  ...example,
  raw: example.raw && Float32Array.from(example.raw),
  pieces: (example.pieces || []).map(([text, first, end, kind, label, bytes, codePoints, ink]) => ({ text, tokens: [first, end], kind, label, bytes, codePoints, ink })),
}));

function render() {
  const total = { flagged: 0, spans: 0, trusted: 0, scored: 0, certified: 0, labelled: 0, agreeing: 0 };
  const table = { flagged_unsupported: 0, missed_unsupported: 0, flagged_clean: 0, passed_clean: 0 };
  const ink = { labelled: 0, flagged: 0, both: 0 };
  examples.forEach((example, at) => {
    const article = byId(`e${at + 1}`), row = byId(`r${at + 1}`), found = decide(example);
    showChunks(article, row, found.trusted);
    showFactuality(article, example.factuality);
    total.certified += found.trusted.filter((t) => t !== null).length;
    total.trusted += found.trusted.filter((t) => t === true).length;
    if (!found.smoothed) return;
    showAnswer(article, at + 1, example, found);
    showSpans(article, at + 1, example, found);
    showScores(article, found);
    showOutcome(article, row, found);
    const flagged = found.spans.length > 0;
    total.scored += 1;
    total.flagged += flagged ? 1 : 0;
    total.spans += found.spans.length;
    if (example.labelled === null) return;
    total.labelled += 1;
    total.agreeing += flagged === example.labelled > 0 ? 1 : 0;
    table[example.labelled > 0 ? (flagged ? "flagged_unsupported" : "missed_unsupported") : (flagged ? "flagged_clean" : "passed_clean")] += 1;
    example.pieces.forEach((piece, index) => {
      const inside = found.spans.some((span) => span.first <= index && index < span.end);
      if (piece.label !== null) ink.labelled += piece.ink;
      if (inside) ink.flagged += piece.ink;
      if (inside && piece.label !== null) ink.both += piece.ink;
    });
  });
  const card = (key, value) => { byId(`card-${key}`).textContent = value; };
  if (total.scored > 0) {
    card("flagged", total.flagged);
    card("spans", total.spans);
  }
  if (total.certified > 0) card("trusted", total.trusted);
  if (total.labelled > 0) {
    card("agreeing", total.agreeing);
    for (const [key, value] of Object.entries(table)) byId(key).textContent = value;
    byId("recalled").textContent = share(ink.both, ink.labelled);
    byId("precise").textContent = share(ink.both, ink.flagged);
  }
  showMoved();
  filter();
}

const nameOf = { alpha: "alpha", token: "token threshold", rho: "rho", rho_answer: "rho for the answer score", factuality: "factuality threshold" };
const shownValue = (key, value) => key === "alpha" ? (value / 1000).toFixed(3) : String(value);

function showMoved() {
  const changed = Object.keys(own).filter((key) => now[key] !== own[key]);
  byId("moved").hidden = changed.length === 0;
  byId("moved-what").textContent = changed.map((key) => `${nameOf[key]} ${shownValue(key, own[key])} \u2192 ${shownValue(key, now[key])}`).join(", ") + ".";
}

const inputs = [...document.querySelectorAll("input[data-key]")];
function showInputs(except) {
  for (const input of inputs) {
    if (input !== except) input.value = shownValue(input.dataset.key, now[input.dataset.key]);
  }
}
let waiting = false;
function renderSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; render(); });
}
for (const input of inputs) {
  input.addEventListener("input", () => {
    const key = input.dataset.key, value = Number(input.value);
    if (input.value === "" || !(value >= Number(input.min) && value <= Number(input.max))) return;
    now = { ...now, [key]: key === "alpha" ? Math.round(value * 1000) : value };
    showInputs(input);
    renderSoon();
  });
  input.addEventListener("change", () => showInputs(null));
}
byId("reset").addEventListener("click", () => { now = { ...own }; showInputs(null); render(); });

const searched = examples.map((_, at) => byId(`e${at + 1}`).textContent.toLowerCase());
function filter() {
  if (!byId("show")) return;
  const wanted = byId("show").value, words = byId("search").value.toLowerCase();
  let shown = 0;
  examples.forEach((_, at) => {
    const article = byId(`e${at + 1}`), outcome = article.dataset.outcome;
    const kind = wanted === "all" || (wanted === "error" ? outcome === "error" || outcome === "unscored" || article.dataset.status !== "ok" : outcome === wanted);
    const visible = kind && searched[at].includes(words);
    article.hidden = !visible;
    byId(`r${at + 1}`).hidden = !visible;
    shown += visible ? 1 : 0;
  });
  byId("shown").textContent = `${shown} of ${count(examples.length, "example", "examples")} shown`;
}
if (byId("show")) {
  byId("show").addEventListener("input", filter);
  byId("search").addEventListener("input", filter);
  byId("open").addEventListener("click", () => {
    const passages = [...document.querySelectorAll(".passage details")], open = !passages.every((d) => d.open);
    passages.forEach((d) => { d.open = open; });
    byId("open").textContent = open ? "Close all passages" : "Open all passages";
  });
}

const themes = ["system", "light", "dark"];
byId("theme").addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "system") + 1) % 3];
  if (next === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = next;
  byId("theme").textContent = `Theme: ${next}`;
});

// A closed passage is not printed: open all of them for the printer, and close again what was closed.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((d) => { d.open = true; });
});
addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

document.querySelectorAll("[data-script]").forEach((e) => { e.hidden = false; });
showInputs(null);
filter();
})();
