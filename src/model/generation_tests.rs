use std::time::Instant;

use super::super::decoder_tests::{folder, golden_ids};
use super::super::small_model::{CHATML, real_model_path, small_model};
use super::super::{
    CacheDirectory, CaptureRequest, Decoder, ModelLocation, SegmentKind, StopTokens, TextModel,
    TextModelFacts, UserTurn,
};
use super::*;

/// The golden decoder with a tokenizer whose first ids it shares; stops at nothing.
fn tiny(stop: &[u32]) -> LanguageModel {
    let (tokenizer, chat) = small_model(CHATML);
    let facts = TextModelFacts { name: "tiny".to_owned(), sha256: String::new(), context_length: None };
    let stop = StopTokens::of(stop.iter().copied());
    LanguageModel {
        text: TextModel { tokenizer, chat, stop, facts },
        decoder: Decoder::from_directory(&folder("llama")).unwrap(),
    }
}

fn prompt() -> Vec<u32> {
    golden_ids("llama")[..20].to_vec()
}

fn capped(max_new_tokens: usize) -> GenerationSettings {
    GenerationSettings { max_new_tokens, ..GenerationSettings::default() }
}

fn run(model: &LanguageModel, prompt: &[u32], settings: &GenerationSettings) -> Generated {
    model.generate(prompt, settings, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

#[test]
fn greedy_tokens_are_the_most_likely_ones_of_a_full_reading_at_every_step() {
    let model = tiny(&[]);
    let generated = run(&model, &prompt(), &capped(24));
    assert_eq!((generated.ids.len(), generated.stopped), (24, StopReason::MaxNewTokens));
    let mut read = prompt();
    let request = CaptureRequest { logits: true, ..CaptureRequest::default() };
    for id in &generated.ids {
        let capture = model.decoder.extend(&model.decoder.prefix(&[]).unwrap(), &read, &request).unwrap();
        let logits = &capture.logits.unwrap()[(read.len() - 1) * 96..];
        let most_likely = (0..96).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
        assert_eq!(*id as usize, most_likely);
        read.push(*id);
    }
}

#[test]
fn a_seed_gives_the_same_answer_again_and_another_seed_another_one() {
    let model = tiny(&[]);
    for settings in [
        GenerationSettings { temperature: 1.5, ..capped(40) },
        GenerationSettings { temperature: 1.5, top_p: Some(0.9), ..capped(40) },
        GenerationSettings { temperature: 1.5, top_k: Some(20), ..capped(40) },
        GenerationSettings { temperature: 1.5, top_p: Some(0.9), top_k: Some(20), ..capped(40) },
    ] {
        let answer = run(&model, &prompt(), &settings);
        assert_eq!(run(&model, &prompt(), &settings), answer);
        assert_ne!(run(&model, &prompt(), &GenerationSettings { seed: 43, ..settings }).ids, answer.ids);
    }
}

#[test]
fn one_of_one_token_is_the_greedy_one_at_any_temperature() {
    let model = tiny(&[]);
    let greedy = run(&model, &prompt(), &capped(16));
    let narrow = GenerationSettings { temperature: 2.0, top_k: Some(1), ..capped(16) };
    assert_eq!(run(&model, &prompt(), &narrow).ids, greedy.ids);
}

#[test]
fn a_stop_token_ends_the_answer_and_is_no_part_of_it() {
    let free = run(&tiny(&[]), &prompt(), &capped(24));
    let stop = free.ids[10];
    let before = free.ids.iter().position(|id| *id == stop).unwrap();
    let stopped = run(&tiny(&[stop]), &prompt(), &capped(24));
    assert_eq!((&stopped.ids[..], stopped.stopped), (&free.ids[..before], StopReason::StopToken));
}

#[test]
fn the_end_of_the_context_ends_the_answer() {
    let model = tiny(&[]);
    let context = model.decoder.config().context_length;
    let long: Vec<u32> = prompt().into_iter().cycle().take(context - 3).collect();
    let generated = run(&model, &long, &capped(50));
    // The last token needs no place: nothing is read after it.
    assert_eq!((generated.ids.len(), generated.stopped), (4, StopReason::ContextFull));
    let longer: Vec<u32> = prompt().into_iter().cycle().take(context + 1).collect();
    let error = model.generate(&longer, &capped(1), &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
}

#[test]
fn cancelling_keeps_what_was_written_until_then() {
    let model = tiny(&[]);
    let cancel = AtomicBool::new(false);
    let mut heard = String::new();
    let generated = model
        .generate(&prompt(), &capped(24), &cancel, &mut |piece| {
            heard += piece;
            if heard.chars().count() >= 3 {
                cancel.store(true, Ordering::Relaxed);
            }
        })
        .unwrap();
    assert_eq!(generated.stopped, StopReason::Cancelled);
    assert_eq!(generated.text, heard);
    assert!(generated.ids.len() < 24);
}

#[test]
fn settings_that_mean_nothing_and_an_empty_prompt_are_refused() {
    let model = tiny(&[]);
    let refused = |prompt: &[u32], settings: &GenerationSettings| {
        model.generate(prompt, settings, &AtomicBool::new(false), &mut |_| {}).unwrap_err().to_string()
    };
    assert!(refused(&[], &capped(3)).contains("the prompt is empty"));
    assert!(refused(&prompt(), &capped(0)).contains("max new tokens must be at least 1"));
    for (settings, name) in [
        (GenerationSettings { temperature: f64::NAN, ..capped(3) }, "temperature"),
        (GenerationSettings { temperature: -1.0, ..capped(3) }, "temperature"),
        (GenerationSettings { temperature: 1.0, top_p: Some(0.0), ..capped(3) }, "top-p"),
        (GenerationSettings { temperature: 1.0, top_p: Some(f64::NAN), ..capped(3) }, "top-p"),
        (GenerationSettings { temperature: 1.0, top_k: Some(0), ..capped(3) }, "top-k"),
    ] {
        let message = refused(&prompt(), &settings);
        assert!(message.starts_with(name), "{message}");
    }
}

#[test]
fn settings_say_what_matters_to_the_answer() {
    assert_eq!(capped(64).describe(), "greedy, at most 64 tokens");
    let drawn = GenerationSettings { temperature: 0.7, top_p: Some(0.9), ..capped(64) };
    assert_eq!(drawn.describe(), "temperature 0.7, top-p 0.9, seed 42, at most 64 tokens");
}

fn real_model(test: &str) -> Option<(LanguageModel, tempfile::TempDir)> {
    let path = real_model_path(test)?;
    let folder = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::at(folder.path());
    Some((LanguageModel::open(&ModelLocation::Gguf(path), &cache).unwrap(), folder))
}

fn question(model: &LanguageModel, text: &str) -> Vec<u32> {
    let mut turn = UserTurn::new();
    turn.push(SegmentKind::Question, text);
    model.prompt(&turn).unwrap().ids
}

#[test]
fn the_default_model_answers_the_same_every_time_and_stops_by_itself() {
    let test = "the_default_model_answers_the_same_every_time_and_stops_by_itself";
    let Some((model, _folder)) = real_model(test) else { return };
    let prompt = question(&model, "What is the capital of France? Answer with one short sentence.");
    let mut pieces = String::new();
    let never = AtomicBool::new(false);
    let first = model.generate(&prompt, &capped(48), &never, &mut |piece| pieces += piece).unwrap();
    assert_eq!(first.stopped, StopReason::StopToken, "{}", first.text);
    assert!(first.text.contains("Paris"), "{}", first.text);
    assert_eq!(pieces, first.text);
    assert_eq!(model.text.tokenizer.decode(&first.ids).unwrap(), first.text);
    assert_eq!(run(&model, &prompt, &capped(48)), first);
    let short = run(&model, &prompt, &capped(2));
    assert_eq!((&short.ids[..], short.stopped), (&first.ids[..2], StopReason::MaxNewTokens));
}

/// `RAGSCOPE_TEST_MODEL=model.gguf cargo test --release -- --ignored --nocapture speed_of_generation`.
#[test]
#[ignore = "a measurement, not a check"]
fn speed_of_generation() {
    let Some((model, _folder)) = real_model("speed_of_generation") else { return };
    for context in [50, 800, 3000] {
        let words = question(&model, "Tell a long story about a ferry, its captain, and the sea.");
        let prompt: Vec<u32> = words.iter().copied().cycle().take(context).collect();
        let (last, before) = prompt.split_last().unwrap();
        let start = Instant::now();
        let prefix = model.decoder.prefix(before).unwrap();
        let prefill = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut sequence = model.decoder.start(&prefix).unwrap();
        for _ in 0..64 {
            model.decoder.step(&mut sequence, *last).unwrap();
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{context} tokens before: prefill {prefill:.2} s, then {:.1} tokens/s ({:.1} ms each)",
            64.0 / seconds,
            seconds * 1000.0 / 64.0
        );
    }
}
