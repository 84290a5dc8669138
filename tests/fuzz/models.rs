//! Files of models and of sentence encoders: weights, configurations, tokenizers, chat templates.

use std::path::Path;

use ragscope::model::{
    CacheDirectory, CaptureRequest, ChatTemplate, Decoder, GgufMetadata, LanguageModel, ModelLocation,
    ModelTokenizer, SentenceEncoder, StopTokens, TextModel,
};

use crate::engine::{Target, said, words};
use crate::gguf;
use crate::importers::folder;
use crate::mutation::Kind;
use crate::sandbox::{repository, tiny_model};

/// Reads a few tokens with whatever was accepted.
fn read_with(decoder: &Decoder) -> String {
    let ids = [1, 2, 0];
    let request = CaptureRequest { segments: vec![0..2], ..CaptureRequest::default() };
    let read = decoder.prefix(&ids[..2]).and_then(|prefix| decoder.extend(&prefix, &ids[2..], &request));
    match read {
        Ok(capture) => {
            assert!(capture.segment_mass.iter().all(|mass| mass.is_finite()), "a mass that is not finite");
            "ok read".to_owned()
        }
        Err(error) => format!("ok but {}", said(&error)),
    }
}

/// Tokens of any text rebuild it byte for byte.
fn rebuilds(tokenizer: &ModelTokenizer) -> String {
    for text in
        ["é🙂 a", "Café Ω costs 12 € — naïve 🙂 guests\u{2028}pay\0 <|im_end|> 15 €.", "e\u{301} 市長は"]
    {
        match tokenizer.encode_data(text) {
            Ok(tokens) => {
                assert_eq!(tokens.ids.len(), tokens.ranges.len());
                let mut end = 0;
                let mut last = 0..0;
                for range in &tokens.ranges {
                    assert!(text.get(range.clone()).is_some(), "{range:?} cuts a character");
                    assert!(*range == last || range.start >= end, "{range:?} goes back");
                    (end, last) = (range.end, range.clone());
                }
            }
            Err(error) => return format!("ok but {}", said(&error)),
        }
    }
    "ok tokens".to_owned()
}

fn gguf_models() -> Target {
    let place = folder();
    let tiny = place.path().join("tiny");
    tiny_model::write(&tiny);
    let seeds = vec![gguf::of(&tiny)];
    Target {
        name: "gguf",
        kind: Kind::Binary,
        seeds,
        words: words(&[
            "llama.block_count",
            "general.architecture",
            "qwen2",
            "gemma3",
            "phi3",
            "tokenizer.ggml.scores",
            "llama.rope.scaling.type",
            "linear",
            "yarn",
            "split.count",
            "general.alignment",
            "token_embd.weight",
        ]),
        read: Box::new(move |bytes| {
            let path = place.path().join("model.gguf");
            std::fs::write(&path, bytes).expect("a file");
            let text = match GgufMetadata::open(&path) {
                Ok(metadata) => {
                    let tokenizer = match ModelTokenizer::from_gguf(&metadata) {
                        Ok(tokenizer) => rebuilds(&tokenizer),
                        Err(error) => said(&error),
                    };
                    let chat = match ChatTemplate::from_gguf(&metadata) {
                        Ok(_) => "ok chat".to_owned(),
                        Err(error) => said(&error),
                    };
                    tokenizer + &chat
                }
                Err(error) => said(&error),
            };
            let weights = match Decoder::from_gguf(&path) {
                Ok(decoder) => read_with(&decoder),
                Err(error) => said(&error),
            };
            let cache = CacheDirectory::at(place.path().join("cache"));
            if let Err(error) = LanguageModel::open(&ModelLocation::Gguf(path.clone()), &cache) {
                said(&error);
            }
            weights + &text
        }),
    }
}

/// A model folder of which one file is changed.
fn model_folder(
    name: &'static str,
    file: &'static str,
    kind: Kind,
    more_seeds: Vec<Vec<u8>>,
    hints: &[&str],
    read: impl Fn(&Path) -> String + Send + Sync + 'static,
) -> Target {
    let place = folder();
    let tiny = place.path().join("tiny");
    tiny_model::write(&tiny);
    let mut seeds = more_seeds;
    if let Ok(own) = std::fs::read(tiny.join(file)) {
        seeds.push(own);
    }
    Target {
        name,
        kind,
        seeds,
        words: words(hints),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(tiny.join(file), bytes).expect("a file");
            read(&tiny)
        }),
    }
}

fn whole_model(tiny: &Path) -> String {
    match Decoder::from_directory(tiny) {
        Ok(decoder) => read_with(&decoder),
        Err(error) => said(&error),
    }
}

fn stop_tokens(tiny: &Path) -> String {
    let tokenizer = ModelTokenizer::from_directory(tiny, None).expect("the tiny model's own");
    match StopTokens::from_directory(tiny, &tokenizer) {
        Ok(tokens) => format!("ok {}", tokens.ids().count()),
        Err(error) => said(&error),
    }
}

fn configurations() -> Vec<Vec<u8>> {
    ["gemma3", "llama3-rope", "mistral-window", "phi3", "qwen2", "qwen3"]
        .iter()
        .map(|name| {
            std::fs::read(repository("tests/golden/decoders").join(name).join("config.json")).expect("golden")
        })
        .collect()
}

fn chat_templates() -> Target {
    let seeds = [
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor %}",
        "{{ bos_token }}{%- set ns = namespace(found=false, s='x') -%}{% generation %}{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{%- set ns.s = ns.s ~ ns.s %}{{ m.content * 1 }}{% endfor %}{% endgeneration %}",
        "{% macro f(a, b=2) %}{{ a|join(', ') }}{% endmacro %}{% for i in range(3) %}{{ f([i, i * 2]) }}{% endfor %}{{ messages[-1].content.strip().split('x')[0] }}",
        "{{ messages[0].content|replace('a', 'b' * 3)|indent(4)|upper }}{{ {'a': [1, 2]}|tojson(indent=2) }}{% raw %}{{ x }}{% endraw %}{# c #}",
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{% set x %}{{ messages[0].content }}{% endset %}{{ x }}{{ strftime_now('%Y') }}",
    ];
    Target {
        name: "chat-template",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "{% for a in range(9999) %}",
            "{% endfor %}",
            "{% set ns.s = ns.s ~ ns.s %}",
            "|list",
            "|tojson",
            "|join(ns.s)",
            " * 9999",
            " ~ ",
            " + ",
            "|replace('', ns.s)",
            "{% macro g() %}{{ g() }}{% endmacro %}{{ g() }}",
            "|batch(99, 'x')",
            "|map('upper')",
            ".format('%9s')",
            "{% set ns.a = ns %}{{ ns }}",
            "[ns, ns]",
            "|indent(200)",
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "messages",
            "loop.index0",
            "not ",
            "-",
            "(",
            ")",
            "{% include 'x' %}",
            "{% call(x) f() %}",
            "{% with a = 1 %}",
            "{% filter upper %}",
            "**",
            "//",
            "is defined",
        ]),
        read: Box::new(|bytes| match ChatTemplate::from_source(&String::from_utf8_lossy(bytes)) {
            Ok(_) => "ok".to_owned(),
            Err(error) => said(&error),
        }),
    }
}

/// A sentence encoder of which one file is changed.
fn encoder(name: &'static str, file: &'static str, kind: Kind, hints: &[&str]) -> Target {
    let place = folder();
    let made = place.path().join("encoder");
    std::fs::create_dir_all(made.join("1_Pooling")).expect("a folder");
    let golden = repository("tests/golden/encoder");
    let files = [
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
    ];
    for one in files {
        std::fs::copy(golden.join(one), made.join(one)).expect("a golden file");
    }
    let seed = std::fs::read(golden.join(file)).expect("a golden file");
    Target {
        name,
        kind,
        seeds: vec![seed],
        words: words(hints),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(made.join(file), bytes).expect("a file");
            let cache = CacheDirectory::at(made.join("cache"));
            let encoder = match SentenceEncoder::open(&made, &cache) {
                Ok(encoder) => encoder,
                Err(error) => return said(&error),
            };
            match encoder.encode(&["When does it open?", "é🙂", ""], &mut |_| ()) {
                Ok(embeddings) => {
                    assert!(
                        embeddings.values.iter().all(|value| value.is_finite()),
                        "an embedding that is not finite"
                    );
                    "ok".to_owned()
                }
                Err(error) => format!("ok but {}", said(&error)),
            }
        }),
    }
}

fn index_seed() -> Vec<u8> {
    br#"{"metadata":{"total_size":1},"weight_map":{"model.norm.weight":"model.safetensors","lm_head.weight":"model.safetensors","model.embed_tokens.weight":"model.safetensors"}}"#.to_vec()
}

pub fn targets() -> Vec<Target> {
    vec![
        gguf_models(),
        model_folder(
            "safetensors",
            "model.safetensors",
            Kind::Binary,
            Vec::new(),
            &["F32", "BF16", "shape", "data_offsets", "[", "lm_head.weight", "__metadata__"],
            whole_model,
        ),
        model_folder(
            "safetensors-index",
            "model.safetensors.index.json",
            Kind::Json,
            vec![index_seed()],
            &["../x", "/etc/passwd", "weight_map", "model.safetensors", "config.json", ".", ".."],
            whole_model,
        ),
        model_folder(
            "config-json",
            "config.json",
            Kind::Json,
            configurations(),
            &[
                "rope_scaling",
                "rope_parameters",
                "yarn",
                "longrope",
                "layer_types",
                "sliding_attention",
                "head_dim",
            ],
            whole_model,
        ),
        model_folder(
            "tokenizer-json",
            "tokenizer.json",
            Kind::Json,
            Vec::new(),
            &[
                "BPE",
                "WordPiece",
                "Unigram",
                "merges",
                "Split",
                "Regex",
                "(?i",
                "Replace",
                "Precompiled",
                "NFC",
                "ByteLevel",
            ],
            |tiny| match ModelTokenizer::from_directory(tiny, Some("<|im_start|>")) {
                Ok(tokenizer) => rebuilds(&tokenizer),
                Err(error) => said(&error),
            },
        ),
        model_folder(
            "tokenizer-config",
            "tokenizer_config.json",
            Kind::Json,
            Vec::new(),
            &["chat_template", "bos_token", "content", "add_bos_token", "{{ bos_token }}", "default"],
            |tiny| {
                let cache = CacheDirectory::at(tiny.join("cache"));
                match TextModel::open(&ModelLocation::Directory(tiny.to_owned()), &cache) {
                    Ok(_) => "ok".to_owned(),
                    Err(error) => said(&error),
                }
            },
        ),
        model_folder(
            "generation-config",
            "generation_config.json",
            Kind::Json,
            vec![
                br#"{"eos_token_id":[2,1],"bos_token_id":1,"do_sample":true}"#.to_vec(),
                br#"{"eos_token_id":2,"text_config":{"eos_token_id":null}}"#.to_vec(),
            ],
            &["eos_token_id", "text_config", "4294967296", "-1", "null"],
            stop_tokens,
        ),
        chat_templates(),
        encoder(
            "encoder-config",
            "config.json",
            Kind::Json,
            &[
                "hidden_size",
                "num_attention_heads",
                "max_position_embeddings",
                "layer_norm_eps",
                "vocab_size",
            ],
        ),
        encoder(
            "encoder-weights",
            "model.safetensors",
            Kind::Binary,
            &["F32", "shape", "data_offsets", "embeddings.word_embeddings.weight", "["],
        ),
    ]
}
