//! The views of more than one example, and those behind a key: snapshots, every size, hostile text.

use ragscope::certify::{Alpha, DiagnosticsSettings, QuestionScores, diagnose};
use ragscope::inspect::{CertificateSummary, Planned};
use ragscope::metrics::{Measure, Random};
use ragscope::tui::{
    AnswerView, AttentionView, Compared, Curve, OverviewList, Page, Role, Scale, Show, Sort,
};

use super::*;

/// Invented retrieval scores of 200 questions, diagnosed as a run would.
pub fn summary() -> CertificateSummary {
    let mut random = Random::new(5);
    let questions: Vec<QuestionScores> = (0..200)
        .map(|number| {
            let correct = (random.uniform() < 0.95).then(|| random.below(3));
            let mut hits: Vec<(f64, bool)> = (0..5)
                .map(|at| {
                    let right = correct == Some(at);
                    (random.uniform() * 6.0 + if right { 5.0 } else { 0.0 }, right)
                })
                .collect();
            hits.sort_by(|one, other| other.0.total_cmp(&one.0));
            QuestionScores { split_key: number.to_string(), hits, reachable: true }
        })
        .collect();
    let settings = DiagnosticsSettings { k: 5, ..DiagnosticsSettings::default() };
    let recall = diagnose(&questions, &settings).unwrap().recall;
    let summary = CertificateSummary {
        values: 95,
        k: 5,
        mode: ragscope::certify::CalibrationMode::PerQuestion,
        recall,
        data: "harbour-faq.jsonl".into(),
        verdict: None,
        diagnostics: None,
    };
    summary.diagnosed(&questions, Alpha::default())
}

/// The complete run, certified, with groups and a second answer to the first question.
pub fn certified() -> Model {
    let mut model = empty();
    tell(&mut model, Message::Certified(Box::new(summary())));
    for (index, mut evidence) in demo::all().into_iter().enumerate() {
        evidence.groups.insert("topic".into(), if index % 3 == 0 { "ferry" } else { "harbour" }.into());
        for (at, chunk) in evidence.chunks.iter_mut().enumerate() {
            chunk.correct = Some(at == index % 4);
        }
        tell(&mut model, Message::Evidence(Box::new(evidence)));
    }
    tell(&mut model, Message::Evidence(Box::new(demo::second_answer())));
    tell(&mut model, Message::Finished);
    model.select(1);
    model.select(0);
    model.attention.layer = 17;
    model.attention.head = 5;
    model
}

fn on_page(page: Page) -> Model {
    let mut model = certified();
    act(&mut model, Command::Page(page));
    model
}

fn locked() -> Model {
    let mut model = certified();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::First);
    for _ in 0..3 {
        act(&mut model, Command::Right);
    }
    act(&mut model, Command::Lock);
    act(&mut model, Command::NextSpan);
    model
}

const WIDE_SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn view_snapshots(state: &str, model: &mut Model) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| {
        for (width, height) in WIDE_SIZES {
            for (name, theme) in THEMES {
                let (buffer, _) = screen(model, &theme, width, height);
                insta::assert_snapshot!(format!("view_{state}_{width}x{height}_{name}"), dump::dump(&buffer));
            }
        }
    });
}

#[test]
fn the_overview_says_how_much_is_flagged_where_and_which_answers_are_worst() {
    view_snapshots("overview", &mut on_page(Page::Overview));
}

#[test]
fn the_diagnostics_draw_m1_m2_and_coverage_over_alpha_with_their_bands() {
    view_snapshots("diagnostics", &mut on_page(Page::Diagnostics));
}

#[test]
fn the_scores_stand_on_both_sides_of_the_threshold() {
    view_snapshots("scores", &mut on_page(Page::Scores));
}

#[test]
fn two_answers_to_one_question_stand_side_by_side() {
    view_snapshots("answers", &mut on_page(Page::Comparison));
}

#[test]
fn two_detectors_show_where_they_agree() {
    let mut model = on_page(Page::Comparison);
    act(&mut model, Command::View);
    view_snapshots("detectors", &mut model);
}

#[test]
fn the_comparison_scrolls_with_the_token_until_it_is_scrolled_by_hand() {
    for views in 0..2 {
        let mut model = on_page(Page::Comparison);
        for _ in 0..views {
            act(&mut model, Command::View);
        }
        let cursor_is_shown = |model: &mut Model| {
            let (buffer, hits) = screen(model, &Theme::DARK, 40, 22);
            let cursor = Theme::DARK.style(Role::Cursor);
            let shown = buffer.content().iter().any(|cell| Some(cell.bg) == cursor.bg);
            (shown, hits.limits.page_at)
        };
        for _ in 0..80 {
            act(&mut model, Command::Left);
        }
        assert_eq!(cursor_is_shown(&mut model), (true, 0));
        act(&mut model, Command::NextSpan);
        act(&mut model, Command::NextSpan);
        let (shown, first) = cursor_is_shown(&mut model);
        assert!(shown && first > 0, "it went down to the token: {shown}, {first}");
        for _ in 0..first {
            act(&mut model, Command::Up);
        }
        assert_eq!(cursor_is_shown(&mut model), (false, 0), "scrolled by hand");
        act(&mut model, Command::Right);
        assert!(cursor_is_shown(&mut model).0, "the next token is in sight again");
    }
}

#[test]
fn the_spans_of_the_answer_are_a_table() {
    let mut model = certified();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::View);
    view_snapshots("spans", &mut model);
}

#[test]
fn the_map_of_tokens_and_chunks_has_figures_where_there_is_room() {
    let mut model = certified();
    act(&mut model, Command::Focus(Pane::Attention));
    act(&mut model, Command::View);
    act(&mut model, Command::Zoom);
    view_snapshots("tokens", &mut model);
}

#[test]
fn the_heads_that_look_back_most_are_a_list() {
    let mut model = certified();
    act(&mut model, Command::Focus(Pane::Attention));
    act(&mut model, Command::View);
    act(&mut model, Command::View);
    view_snapshots("heads", &mut model);
}

#[test]
fn a_locked_token_is_read_beside_the_one_at_the_cursor() {
    view_snapshots("locked", &mut locked());
}

#[test]
fn the_chunk_lights_up_the_words_of_the_token() {
    let mut model = certified();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::First);
    act(&mut model, Command::Right);
    act(&mut model, Command::Focus(Pane::Chunks));
    view_snapshots("chunks", &mut model);
}

#[test]
fn the_examples_can_be_sorted_and_narrowed() {
    let mut model = certified();
    act(&mut model, Command::Show);
    act(&mut model, Command::Sort);
    act(&mut model, Command::Mark);
    view_snapshots("examples", &mut model);
}

/// A model with more heads than a narrow pane has columns.
fn many_heads() -> Model {
    let mut evidence = demo::all().remove(0);
    let chunks = evidence.chunks.len();
    let lookback = evidence.reading.as_mut().unwrap().lookback.as_mut().unwrap();
    (lookback.layers, lookback.heads) = (32, 64);
    lookback.by_head = (0..32 * 64 * chunks).map(|at| (at % 97) as f32 / 97.0).collect();
    lookback.context_by_head = (0..32 * 64).map(|at| (at % 89) as f32 / 89.0).collect();
    let mut model = empty();
    tell(&mut model, Message::Evidence(Box::new(evidence)));
    act(&mut model, Command::Focus(Pane::Attention));
    model
}

#[test]
fn heads_that_do_not_fit_are_named_and_the_grid_follows_the_cursor() {
    for theme in [Theme::DARK, Theme::MONO] {
        let mut model = many_heads();
        let shown = |model: &mut Model| {
            let (buffer, hits) = screen(model, &theme, 50, 16);
            (dump::dump(&buffer), hits)
        };
        let (text, hits) = shown(&mut model);
        assert!(text.contains("heads 0–43 of 64 ›"), "{text}");
        assert!(hits.area_of(Target::Head { layer: 0, head: 63 }).is_none());
        for _ in 0..63 {
            act(&mut model, Command::Right);
        }
        let (text, hits) = shown(&mut model);
        assert!(text.contains("‹ heads 20–63 of 64"), "{text}");
        assert!(hits.area_of(Target::Head { layer: 0, head: 63 }).is_some());
    }
}

/// Every view and setting that a key leads to, on a model.
pub fn settings(make: &dyn Fn() -> Model) -> Vec<Model> {
    let mut found = Vec::new();
    for page in Page::ALL {
        for _ in 0..1 {
            let mut model = make();
            act(&mut model, Command::Page(page));
            for _ in 0..3 {
                act(&mut model, Command::View);
                act(&mut model, Command::Scale);
                found.push(copied(make, &model));
            }
        }
    }
    for view in AttentionView::ALL {
        for scale in [Scale::Linear, Scale::Logarithmic, Scale::Rank] {
            let mut model = make();
            model.focus = Pane::Attention;
            model.attention.view = view;
            model.attention.scale = scale;
            model.attention.elsewhere = scale == Scale::Rank;
            act(&mut model, Command::Lock);
            act(&mut model, Command::NextSpan);
            model.zoom = scale == Scale::Logarithmic;
            found.push(model);
        }
    }
    for view in AnswerView::ALL {
        let mut model = make();
        model.focus = Pane::Answer;
        model.answer_view = view;
        act(&mut model, Command::Lock);
        act(&mut model, Command::NextSpan);
        found.push(model);
    }
    found
}

/// Another model with the same page and settings of it.
fn copied(make: &dyn Fn() -> Model, model: &Model) -> Model {
    let mut other = make();
    other.pages = model.pages.clone();
    other.compare();
    other
}

#[test]
fn no_size_breaks_a_page_or_a_view_of_a_pane() {
    let widths = [0, 1, 3, 39, 40, 41, 59, 60, 75, 80, 99, 100, 120, 160, 250];
    let heights = [0, 1, 7, 8, 9, 10, 12, 16, 24, 36, 50, 80];
    let makers: [&dyn Fn() -> Model; 4] = [&empty, &partial, &certified, &many_heads];
    for (index, mut model) in makers.into_iter().flat_map(settings).enumerate() {
        let theme = THEMES[index % THEMES.len()].1;
        for width in widths {
            for height in heights {
                screen(&mut model, &theme, width, height);
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_sequence_of_keys_on_any_view_breaks_any_size(
        width in 0_u16..250,
        height in 0_u16..80,
        start in 0_usize..4,
        keys in proptest::collection::vec(0..ragscope::tui::action::ACTIONS.len(), 0..24),
    ) {
        let mut model = on_page(Page::ALL[start]);
        for key in keys {
            act(&mut model, ragscope::tui::action::ACTIONS[key].command);
            screen(&mut model, &Theme::LIGHT, width, height);
        }
        proptest::prop_assert!(model.selected < model.rows.len());
    }
}

/// Where keys lead: start, keys, what must be so then.
#[test]
fn keys_lead_where_they_say() {
    type Check = fn(&Model) -> bool;
    let spans = |model: &Model| model.span_at_cursor();
    assert!(spans(&certified()).is_some());
    let table: &[(&str, &[Command], Check)] = &[
        ("O opens the overview, Esc closes it", &[Command::Page(Page::Overview), Command::Back], |model| {
            model.pages.open.is_none() && model.run.phase == Phase::Finished
        }),
        ("q closes a page and does not quit", &[Command::Page(Page::Scores), Command::Close], |model| {
            model.pages.open.is_none()
        }),
        (
            "the same key closes a page",
            &[Command::Page(Page::Scores), Command::Page(Page::Scores)],
            |model| model.pages.open.is_none(),
        ),
        ("Tab goes through the pages", &[Command::Page(Page::Overview), Command::NextPane], |model| {
            model.pages.open == Some(Page::Diagnostics)
        }),
        ("Shift-Tab goes back", &[Command::Page(Page::Overview), Command::PreviousPane], |model| {
            model.pages.open == Some(Page::Comparison)
        }),
        (
            "a digit leaves the page for its pane",
            &[Command::Page(Page::Overview), Command::Focus(Pane::Chunks)],
            |model| model.pages.open.is_none() && model.focus == Pane::Chunks,
        ),
        ("Enter on the worst answer opens it", &[Command::Page(Page::Overview), Command::Open], |model| {
            model.pages.open.is_none()
                && model.focus == Pane::Answer
                && Some(model.selected) == model.rows.overview().worst.first().map(|answer| answer.example)
        }),
        (
            "Enter on a group shows only its examples",
            &[Command::Page(Page::Overview), Command::View, Command::Open],
            |model| {
                model.filter.group.is_some() && model.focus == Pane::Examples && model.rows.shown().len() < 9
            },
        ),
        (
            "Enter on a passage opens the answer that looked at it",
            &[Command::Page(Page::Overview), Command::View, Command::View, Command::Open],
            |model| model.pages.open.is_none() && model.pages.list == OverviewList::Passages,
        ),
        (
            "h on the diagnostics lowers alpha",
            &[Command::Page(Page::Diagnostics), Command::StepDown],
            |model| model.thresholds.alpha.thousandths() == 95,
        ),
        ("l on the scores raises the threshold", &[Command::Page(Page::Scores), Command::StepUp], |model| {
            model.thresholds.token == 0.51
        }),
        ("v shows one curve after the other", &[Command::Page(Page::Diagnostics), Command::View], |model| {
            model.pages.curve == Curve::M2
        }),
        ("v compares detectors", &[Command::Page(Page::Comparison), Command::View], |model| {
            model.pages.compared == Compared::Detectors && model.comparison.second.is_some()
        }),
        ("an unmarked comparison takes the same question", &[Command::Page(Page::Comparison)], |model| {
            model.comparison.partner.as_ref().is_some_and(|partner| partner.example == 8)
        }),
        (
            "a mark goes before that",
            &[Command::Mark, Command::Down, Command::Down, Command::Page(Page::Comparison)],
            |model| model.comparison.partner.as_ref().is_some_and(|partner| partner.example == 0),
        ),
        ("a second mark takes it away", &[Command::Mark, Command::Mark], |model| model.marked.is_none()),
        ("f shows flagged examples only", &[Command::Show], |model| {
            model.filter.show == Show::Flagged
                && model
                    .rows
                    .shown()
                    .iter()
                    .all(|index| model.rows.tally(*index).is_some_and(|tally| tally.flagged > 0))
        }),
        ("f f shows clean ones", &[Command::Show, Command::Show], |model| {
            model
                .rows
                .shown()
                .iter()
                .all(|index| model.rows.tally(*index).is_some_and(|tally| tally.flagged == 0))
                && !model.rows.shown().is_empty()
        }),
        ("f f f shows the unusable", &[Command::Show, Command::Show, Command::Show], |model| {
            model.rows.shown() == [4] && model.selected == 4
        }),
        ("Esc shows all again", &[Command::Show, Command::Back], |model| model.rows.shown().len() == 9),
        ("F goes through groups", &[Command::ShowGroup], |model| {
            model.filter.group == Some(("task".into(), "qa".into())) && model.rows.shown().len() == 8
        }),
        (
            "s sorts the worst first and j follows that order",
            &[Command::Sort, Command::First, Command::Down],
            |model| model.filter.sort == Sort::Worst && model.rows.shown()[1] == model.selected,
        ),
        (
            "sorting keeps the selection",
            &[Command::Down, Command::Sort, Command::Sort, Command::Sort],
            |model| model.selected == 1 && model.filter.sort == Sort::Id,
        ),
        (
            "v in the answer shows the spans, j goes to the next",
            &[Command::Focus(Pane::Answer), Command::View, Command::Down],
            |model| model.answer_view == AnswerView::Spans && model.span_at_cursor() == Some(1),
        ),
        (
            "the last span is the last",
            &[Command::Focus(Pane::Answer), Command::View, Command::Down, Command::Down, Command::Down],
            |model| model.span_at_cursor() == Some(1),
        ),
        (
            "Enter in the table goes to the text",
            &[Command::Focus(Pane::Answer), Command::View, Command::Open],
            |model| model.answer_view == AnswerView::Text,
        ),
        (
            "h and l move the token in the map, j and k the chunk",
            &[Command::Focus(Pane::Attention), Command::View, Command::First, Command::Right, Command::Down],
            |model| (model.token, model.chunk) == (1, 1),
        ),
        (
            "g goes to the first head of the list",
            &[Command::Focus(Pane::Attention), Command::View, Command::View, Command::First],
            |model| {
                let lookback = model.reading().unwrap().lookback.as_ref().unwrap();
                let (layer, head, _) = model.attention.ranked(lookback, model.chunk)[0];
                (model.attention.layer, model.attention.head) == (layer, head)
            },
        ),
        (
            "Space locks, and the cursor moves on",
            &[Command::Focus(Pane::Answer), Command::First, Command::Lock, Command::Right],
            |model| model.token == 1 && model.locked().map(|lock| lock.token) == Some(0),
        ),
        ("Space releases", &[Command::Lock, Command::Lock], |model| model.lock.is_none()),
        ("a lock waits for its example", &[Command::Lock, Command::Down], |model| {
            model.locked().is_none() && model.lock.is_some()
        }),
    ];
    for (name, keys, holds) in table {
        let mut model = certified();
        screen(&mut model, &Theme::DARK, 120, 40);
        for key in *keys {
            act(&mut model, *key);
            screen(&mut model, &Theme::DARK, 120, 40);
        }
        assert!(holds(&model), "{name}");
    }
}

#[test]
fn sums_of_the_run_are_the_same_in_whatever_order_and_however_often_evidence_comes() {
    let figures = |orders: &[usize]| {
        let mut model = empty();
        for index in orders {
            let all = demo::all();
            tell(&mut model, Message::Evidence(Box::new(demo::unread(all[*index].clone()))));
            tell(&mut model, Message::Evidence(Box::new(all[*index].clone())));
        }
        let figures = model.rows.figures();
        let mut overview = model.rows.overview().clone();
        // Rows are numbered as they come.
        for answer in &mut overview.worst {
            answer.example = model.rows.get(answer.example).unwrap().row;
        }
        for passage in &mut overview.passages {
            passage.example = 0;
        }
        let certified = model.rows.certification().m2(Alpha::from_thousandths(100));
        (figures.raw.clone(), figures.smoothed.clone(), overview, certified)
    };
    let once = figures(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(once, figures(&[7, 0, 3, 3, 1, 2, 6, 5, 4, 0]));
    assert!(once.2.attributed > 0 && !once.2.passages.is_empty());
}

#[test]
fn a_filter_that_depends_on_decisions_follows_the_threshold() {
    let mut model = certified();
    act(&mut model, Command::Show);
    let before = model.rows.shown().len();
    act(&mut model, Command::Page(Page::Scores));
    for _ in 0..6 {
        act(&mut model, Command::LeapUp);
    }
    assert_eq!(model.thresholds.token, 1.0);
    assert!(before > 0 && model.rows.shown().is_empty(), "{before}");
    act(&mut model, Command::Reset);
    assert_eq!(model.rows.shown().len(), before);
}

#[test]
fn a_planned_run_without_evidence_has_pages_that_say_so() {
    let mut model = empty();
    tell(&mut model, Message::Planned(vec![Planned { row: 0, id: "a".into(), question: "?".into() }]));
    for (page, words) in [
        (Page::Overview, "No answer has been read yet."),
        (Page::Diagnostics, "No chunk of this run has a p-value."),
        (Page::Scores, "No answer has been scored yet."),
        (Page::Comparison, "There is no answer to compare yet."),
    ] {
        model.pages.open = Some(page);
        let (buffer, _) = screen(&mut model, &Theme::DARK, 120, 40);
        assert!(dump::dump(&buffer).contains(words), "{page:?}");
    }
}

#[test]
fn recall_without_questions_is_named_rather_than_zero() {
    let mut model = empty();
    let mut summary = summary();
    (summary.recall, summary.diagnostics) = (Measure::undefined("no questions"), None);
    tell(&mut model, Message::Certified(Box::new(summary)));
    act(&mut model, Command::Page(Page::Diagnostics));
    let (buffer, _) = screen(&mut model, &Theme::DARK, 120, 40);
    assert!(dump::dump(&buffer).contains("n/a (no questions)"));
}
