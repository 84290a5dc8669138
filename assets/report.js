// Decides again when a threshold moves, with the rules of the program and the same numbers, and filters
// the list. Everything in the page was written by the program first: this script only rewrites it.
(() => {
"use strict";
const data = JSON.parse(document.getElementById("evidence").textContent);
const own = { alpha: data.alpha, token: data.token, rho: data.rho, rho_answer: data.rho_answer, factuality: data.factuality };
let now = { ...own };
const byId = (id) => document.getElementById(id);

// --- deciding ---

// P(token unsupported | all scores) of a two-state chain of label persistence `rho`: the operations and
// their order are those of the program, so the doubles are equal.
function smooth(raw, rho) {
  const clip = 1e-6, tiny = 2 ** -1022;
  const stay = Math.min(Math.max(rho, 0), 1), leave = 1 - stay;
  const scores = Float64Array.from(raw, (s) => Number.isNaN(s) ? 0.5 : Math.min(Math.max(s, clip), 1 - clip));
  const smoothed = new Float64Array(scores.length);
  let expected = 0.5;
  scores.forEach((s, t) => {
    const joint = s * expected;
    const inside = joint / Math.max(joint + (1 - s) * (1 - expected), tiny);
    smoothed[t] = inside;
    expected = stay * inside + leave * (1 - inside);
  });
  let backIn = 0.5, backOut = 0.5;
  for (let t = scores.length - 1; t >= 0; t--) {
    const s = scores[t];
    const inside = smoothed[t] * backIn, outside = (1 - smoothed[t]) * backOut;
    smoothed[t] = inside / Math.max(inside + outside, tiny);
    const afterIn = s * backIn, afterOut = (1 - s) * backOut;
    const nextIn = stay * afterIn + leave * afterOut, nextOut = stay * afterOut + leave * afterIn;
    const sum = Math.max(nextIn + nextOut, tiny);
    backIn = nextIn / sum;
    backOut = nextOut / sum;
  }
  return smoothed;
}

const highest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const band = (score) => data.edges.filter((edge) => score >= edge).length;

// Flagged spans as runs of pieces, `end` exclusive. Runs are joined across units that bridge.
function spansOf(example, smoothed, threshold) {
  const spans = [], units = example.units;
  let last = -1;
  units.forEach((unit, at) => {
    let score = 0;
    for (let t = unit.tokens[0]; t < unit.tokens[1]; t++) score = Math.max(score, smoothed[t]);
    if (!(score >= threshold)) return;
    const span = spans[spans.length - 1];
    const joined = span && (last + 1 === at ? units[last].joinsNext : units.slice(last + 1, at).every((between) => between.bridges));
    if (joined) {
      span.end = unit.pieces[1];
      span.score = Math.max(span.score, score);
    } else {
      spans.push({ first: unit.pieces[0], end: unit.pieces[1], score });
    }
    last = at;
  });
  return spans;
}

// Smoothing depends on one slider: what it gave is kept until that slider moves.
function kept(example, name, rho, compute) {
  if (!example[name] || example[name].rho !== rho) example[name] = { rho, value: compute() };
  return example[name].value;
}

function decide(example) {
  const trusted = example.chunks.map((p) => p && p[0] * 1000 > now.alpha * p[1]);
  if (!example.raw) return { trusted, smoothed: null, spans: [], score: null };
  const smoothed = kept(example, "bySpan", now.rho, () => smooth(example.raw, now.rho));
  const score = kept(example, "byAnswer", now.rho_answer, () => highest(smooth(example.raw, now.rho_answer)));
  return { trusted, smoothed, spans: spansOf(example, smoothed, now.token), score };
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
      if (label > seen) {
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

// Writes only what is new: an unchanged page costs no layout.
function write(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

function showBadge(badge, name) {
  if (badge.textContent === name) return;
  badge.className = `badge ${name}`;
  badge.textContent = name;
}

const outcomeOf = (found) => found.spans.length > 0 ? "flagged" : "clean";

function showOutcome(article, found) {
  if (article.dataset.outcome === "error") return;
  const flagged = found.spans.length > 0;
  showBadge(article.querySelector(".state .badge"), outcomeOf(found));
  write(article.querySelector(".decision"), (flagged ? `${count(found.spans.length, "span", "spans")} flagged` : "No span flagged") + `; answer score ${three(found.score)}.`);
}

function showRow(article, row, found) {
  const certified = found.trusted.filter((t) => t !== null).length;
  if (certified > 0) write(row.querySelector(".trusted"), `${found.trusted.filter((t) => t === true).length} / ${found.trusted.length}`);
  if (!found.smoothed || article.dataset.outcome === "error") return;
  article.dataset.outcome = outcomeOf(found);
  showBadge(row.querySelector(".badge"), outcomeOf(found));
  write(row.querySelector(".spans"), found.spans.length);
  write(row.querySelector(".score"), three(found.score));
}

function showFactuality(article, factuality) {
  if (factuality === null) return;
  const consistent = factuality >= now.factuality;
  write(article.querySelector(".factuality"), `Factuality ${three(factuality)}, ${consistent ? "at least" : "below"} ${now.factuality}: called ${consistent ? "consistent" : "inconsistent"}.`);
}

function showChunks(article, trusted) {
  const total = trusted.length, certified = trusted.filter((t) => t !== null).length, kept = trusted.filter((t) => t === true).length;
  if (certified === 0) return;
  const without = certified < total ? ` ${total - certified} without a p-value.` : "";
  article.querySelector("p.trusted").textContent = `${kept} of ${count(total, "chunk", "chunks")} trusted at alpha ${alphaText()}.${without}`;
  article.querySelectorAll(".chunks tbody").forEach((body, at) => {
    if (trusted[at] === null) return;
    const name = trusted[at] ? "trusted" : "dropped";
    body.className = name;
    showBadge(body.querySelector(".badge"), name);
    body.querySelector(".pbar .limit").setAttribute("d", `M${(now.alpha / 10).toFixed(1)} 0v10`);
  });
}

// --- all of it ---

const examples = data.examples.map((example) => ({
  ...example,
  raw: example.raw && Float32Array.from(example.raw, (s) => s === null ? NaN : s),
  pieces: (example.pieces || []).map(([text, label, bytes, codePoints, ink]) => ({ text, label, bytes, codePoints, ink })),
  units: (example.units || []).map(([first, end, piece, pieceEnd, flags]) => ({ tokens: [first, end], pieces: [piece, pieceEnd], bridges: (flags & 1) > 0, joinsNext: (flags & 2) > 0 })),
}));

const articles = examples.map((_, at) => byId(`e${at + 1}`)), rows = examples.map((_, at) => byId(`r${at + 1}`));
let decided = [];

// Decides all, and shows at once what can be seen: the numbers at the top, the list, the examples near the
// window. The other examples follow in slices, so that a long report answers while a slider is moved.
function render() {
  const total = { flagged: 0, spans: 0, trusted: 0, scored: 0, certified: 0, labelled: 0, agreeing: 0 };
  const table = { flagged_unsupported: 0, missed_unsupported: 0, flagged_clean: 0, passed_clean: 0 };
  const ink = { labelled: 0, flagged: 0, both: 0 };
  decided = examples.map(decide);
  examples.forEach((example, at) => {
    const found = decided[at];
    showRow(articles[at], rows[at], found);
    total.certified += found.trusted.filter((t) => t !== null).length;
    total.trusted += found.trusted.filter((t) => t === true).length;
    if (!found.smoothed) return;
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
  const card = (key, value) => write(byId(`card-${key}`), value);
  if (total.scored > 0) {
    card("flagged", total.flagged);
    card("spans", total.spans);
  }
  if (total.certified > 0) card("trusted", total.trusted);
  if (total.labelled > 0) {
    card("agreeing", total.agreeing);
    for (const [key, value] of Object.entries(table)) write(byId(key), value);
    write(byId("recalled"), share(ink.both, ink.labelled));
    write(byId("precise"), share(ink.both, ink.flagged));
  }
  showMoved();
  filter();
  behind = new Set(examples.keys());
  near.forEach(show);
  document.documentElement.dataset.settled = "false";
  if (!catching) {
    catching = true;
    setTimeout(catchUp, 0);
  }
}

// Examples that still show what was decided before, and those near the window.
let behind = new Set(), catching = false;
const near = new Set();

function show(at) {
  if (!behind.delete(at)) return;
  const article = articles[at], example = examples[at], found = decided[at];
  showChunks(article, found.trusted);
  showFactuality(article, example.factuality);
  if (!found.smoothed) return;
  showAnswer(article, at + 1, example, found);
  showSpans(article, at + 1, example, found);
  showScores(article, found);
  showOutcome(article, found);
}

function catchUp() {
  const until = performance.now() + 10;
  for (const at of behind) {
    show(at);
    if (performance.now() > until) break;
  }
  catching = behind.size > 0;
  if (catching) {
    setTimeout(catchUp, 0);
  } else {
    sortRows();
    document.documentElement.dataset.settled = "true";
  }
}

const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const at = articles.indexOf(entry.target);
    if (entry.isIntersecting) { near.add(at); show(at); } else near.delete(at);
  }
}, { rootMargin: "100%" });
articles.forEach((article) => watch.observe(article));

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

// The text of all examples is gathered at the first search: a page that nobody searches need not. Marks stand
// between the words of the page's answers, so each answer is added as it is.
let texts = null;
const textOf = (article, at) => `${article.textContent} ${examples[at].pieces.map((piece) => piece.text).join("")}`.toLowerCase();
function filter() {
  if (!byId("show")) return;
  const wanted = byId("show").value, words = byId("search").value.toLowerCase();
  if (words !== "") texts ??= articles.map(textOf);
  let shown = 0;
  articles.forEach((article, at) => {
    const outcome = article.dataset.outcome;
    const kind = wanted === "all" || (wanted === "error" ? outcome === "error" || outcome === "unscored" || article.dataset.status !== "ok" : outcome === wanted);
    const visible = kind && (words === "" || texts[at].includes(words));
    if (article.hidden === visible) article.hidden = rows[at].hidden = !visible;
    shown += visible ? 1 : 0;
  });
  write(byId("shown"), `${shown} of ${count(examples.length, "example", "examples")} shown`);
}

// Sorting: by what is behind a cell, not by how it is written. What is absent comes last both ways.
const columns = [
  (at) => at,
  (at) => rows[at].children[1].textContent,
  (at) => rows[at].children[2].textContent,
  (at) => rows[at].children[3].textContent,
  (at) => decided[at].smoothed && decided[at].spans.length,
  (at) => decided[at].score,
  (at) => examples[at].factuality,
  (at) => decided[at].trusted.some((t) => t !== null) ? decided[at].trusted.filter((t) => t === true).length : null,
  (at) => examples[at].labelled ?? null,
];
let sorted = { column: 0, descending: false };
function sortRows() {
  const { column, descending } = sorted, key = columns[column];
  const keys = examples.map((_, at) => key(at));
  const order = [...examples.keys()].sort((a, b) => {
    const [one, other] = [keys[a], keys[b]];
    if (one === null || other === null) return (one === null) - (other === null) || a - b;
    const by = typeof one === "string" ? one.localeCompare(other, "en") : one - other;
    return (descending ? -by : by) || a - b;
  });
  const body = document.querySelector(".overview tbody");
  if (body && order.some((at, place) => body.children[place] !== rows[at])) body.append(...order.map((at) => rows[at]));
}
document.querySelectorAll(".overview thead th").forEach((head, column) => {
  const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
  head.append(button);
  head.setAttribute("aria-sort", column === 0 ? "ascending" : "none");
  button.addEventListener("click", () => {
    // The first click shows the most of a number, and the beginning of the alphabet.
    const number = head.classList.contains("n") && column > 0;
    sorted = { column, descending: sorted.column === column ? !sorted.descending : number };
    document.querySelectorAll(".overview thead th").forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    if (decided.length === 0) decided = examples.map(decide);
    sortRows();
  });
});
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

// What is closed is not printed: open it for the printer and close it again. Token tables stay as they are.
let closed = [];
addEventListener("beforeprint", () => {
  [...behind].forEach(show);
  closed = [...document.querySelectorAll("details:not([open], .every)")];
  closed.forEach((d) => { d.open = true; });
});
addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

document.querySelectorAll("[data-script]").forEach((e) => { e.hidden = false; });
showInputs(null);
filter();
})();
