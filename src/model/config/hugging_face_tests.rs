use super::*;
use crate::model::{RopeConfig, RopeScaling};

const LLAMA_3_2: &str = r#"{"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":128256,
    "hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,
    "intermediate_size":8192,"rms_norm_eps":1e-05,"max_position_embeddings":131072,"hidden_act":"silu",
    "torch_dtype":"bfloat16","rope_theta":500000.0,"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,
    "low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"}}"#;

fn read(text: &str) -> Result<ModelConfig, DecoderError> {
    from_json(text, Path::new("config.json"))
}

fn changed(from: &str, edit: impl Fn(&mut Map<String, Value>)) -> String {
    let mut map: Map<String, Value> = serde_json::from_str(from).unwrap();
    edit(&mut map);
    Value::Object(map).to_string()
}

fn edited(edit: impl Fn(&mut Map<String, Value>)) -> String {
    changed(LLAMA_3_2, edit)
}

/// The error that a field with this value makes.
fn refusal(from: &str, field: &str, value: &Value) -> String {
    read(&changed(from, |m| drop(m.insert(field.into(), value.clone())))).unwrap_err().to_string()
}

#[test]
fn old_and_new_rope_keys_mean_the_same() {
    let old = read(LLAMA_3_2).unwrap();
    let new = read(&edited(|m| {
        let mut rope = m.remove("rope_scaling").unwrap();
        rope["rope_theta"] = m.remove("rope_theta").unwrap();
        m.insert("rope_parameters".into(), rope);
        let dtype = m.remove("torch_dtype").unwrap();
        m.insert("dtype".into(), dtype);
    }))
    .unwrap();
    assert_eq!(old, new);
    assert_eq!(old.group(), 4);
    assert_eq!(old.rope.theta, 500_000.0);
    assert!(matches!(old.rope.scaling, RopeScaling::Llama3 { factor: 32.0, .. }));
}

#[test]
fn absent_and_null_fields_take_the_meaning_of_the_format() {
    let config = read(&edited(|m| {
        for key in ["head_dim", "num_key_value_heads", "rope_scaling"] {
            m.insert(key.into(), Value::Null);
        }
        m.remove("rope_theta");
    }))
    .unwrap();
    assert_eq!((config.head_dim, config.kv_heads), (64, 32));
    assert_eq!(config.rope, RopeConfig { theta: 10_000.0, scaling: RopeScaling::None });
    assert_eq!(config.windows, [None; 16]);
}

#[test]
fn what_is_not_computed_is_refused_by_name() {
    let cases: [(&str, Value); 12] = [
        ("model_type", "gpt2".into()),
        ("model_type", Value::Null),
        ("hidden_act", "gelu".into()),
        ("attention_bias", true.into()),
        ("quantization_config", serde_json::json!({"bits": 4})),
        ("num_hidden_layers", 0.into()),
        ("num_hidden_layers", serde_json::json!(-3)),
        ("hidden_size", serde_json::json!(1e30)),
        ("rms_norm_eps", Value::Null),
        ("rope_theta", "\u{1b}[2J".into()),
        ("partial_rotary_factor", serde_json::json!(0.5)),
        ("rope_scaling", serde_json::json!("yarn")),
    ];
    for (field, value) in cases {
        let error = refusal(LLAMA_3_2, field, &value);
        assert!(error.contains(field), "{field}: {error}");
        assert!(!error.contains('\u{1b}'));
    }
    let error =
        read(&edited(|m| m["rope_scaling"]["rope_type"] = "proportional".into())).unwrap_err().to_string();
    assert!(error.contains("rope_scaling.rope_type") && error.contains("proportional"), "{error}");
    let error = read(&edited(|m| m["num_key_value_heads"] = 5.into())).unwrap_err().to_string();
    assert!(error.contains("divisor of the 32"), "{error}");
    assert!(read("[]").is_err() && read("{").is_err());
}

const MISTRAL: &str = r#"{"model_type":"mistral","vocab_size":32000,"hidden_size":4096,"num_hidden_layers":3,
    "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"rms_norm_eps":1e-05,
    "max_position_embeddings":32768,"hidden_act":"silu","rope_theta":10000.0,"sliding_window":4096,
    "torch_dtype":"bfloat16","tie_word_embeddings":false}"#;

const QWEN: &str = r#"{"model_type":"qwen2","vocab_size":151936,"hidden_size":896,"num_hidden_layers":4,
    "num_attention_heads":14,"num_key_value_heads":2,"intermediate_size":4864,"rms_norm_eps":1e-06,
    "max_position_embeddings":32768,"hidden_act":"silu","rope_theta":1000000.0,"sliding_window":32768,
    "max_window_layers":3,"use_sliding_window":false,"tie_word_embeddings":true}"#;

const GEMMA: &str = r#"{"model_type":"gemma3_text","vocab_size":262144,"hidden_size":1152,
    "num_hidden_layers":8,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,
    "intermediate_size":6912,"rms_norm_eps":1e-06,"max_position_embeddings":32768,
    "hidden_activation":"gelu_pytorch_tanh","query_pre_attn_scalar":144,"attention_bias":false,
    "attn_logit_softcapping":null,"final_logit_softcapping":null,"rope_theta":1000000,
    "rope_local_base_freq":10000,"rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":512,
    "sliding_window_pattern":6}"#;

#[test]
fn mistral_has_its_window_in_every_layer_and_null_means_none() {
    assert_eq!(read(MISTRAL).unwrap().windows, [Some(4096); 3]);
    let config = read(&changed(MISTRAL, |m| m["sliding_window"] = Value::Null)).unwrap();
    assert_eq!((config.windows, config.head_dim), (vec![None; 3], 128));
    // Absent, the published default would be a window.
    let error = read(&changed(MISTRAL, |m| drop(m.remove("sliding_window")))).unwrap_err().to_string();
    assert!(error.contains("sliding_window"), "{error}");
}

#[test]
fn qwen_uses_its_window_only_where_it_says_so() {
    assert_eq!(read(QWEN).unwrap().windows, [None; 4]);
    let using = changed(QWEN, |m| m["use_sliding_window"] = true.into());
    let window = Some(32768);
    assert_eq!(read(&using).unwrap().windows, [None, None, None, window]);
    let listed = changed(&using, |m| {
        let kinds = ["sliding_attention", "full_attention", "full_attention", "sliding_attention"];
        m.insert("layer_types".into(), serde_json::json!(kinds));
    });
    assert_eq!(read(&listed).unwrap().windows, [window, None, None, window]);
    let contradiction = changed(&listed, |m| m["use_sliding_window"] = false.into());
    assert!(read(&contradiction).unwrap_err().to_string().contains("layer_types"));
    let error = refusal(&using, "max_window_layers", &Value::Null);
    assert!(error.contains("max_window_layers"), "{error}");
}

#[test]
fn gemmas_old_and_new_keys_mean_the_same() {
    let old = read(GEMMA).unwrap();
    assert_eq!(old.windows.iter().filter(|window| window.is_none()).count(), 1);
    assert_eq!(old.windows[5], None);
    assert_eq!(old.windows[0], Some(512));
    assert_eq!(old.query_scalar, 144.0);
    assert_eq!(old.rope_of(5).theta, 1e6);
    assert_eq!(old.rope_of(5).scaling, RopeScaling::Linear { factor: 8.0 });
    // The scaling is for global layers alone.
    assert_eq!(old.rope_of(0), &RopeConfig { theta: 1e4, scaling: RopeScaling::None });
    let new = read(&changed(GEMMA, |m| {
        for key in ["rope_theta", "rope_local_base_freq", "rope_scaling", "sliding_window_pattern"] {
            m.remove(key);
        }
        let of = |layer: usize| if layer == 5 { "full_attention" } else { "sliding_attention" };
        m.insert("layer_types".into(), (0..8).map(of).collect::<Vec<_>>().into());
        m.insert(
            "rope_parameters".into(),
            serde_json::json!({
                "full_attention": {"rope_theta": 1e6, "rope_type": "linear", "factor": 8.0},
                "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"}
            }),
        );
    }))
    .unwrap();
    assert_eq!(old, new);
}

#[test]
fn a_theta_is_never_made_up() {
    for (text, field) in [
        (changed(MISTRAL, |m| drop(m.remove("rope_theta"))), "rope_theta"),
        (changed(QWEN, |m| drop(m.remove("rope_theta"))), "rope_theta"),
        (changed(GEMMA, |m| drop(m.remove("rope_theta"))), "rope_theta"),
        (changed(GEMMA, |m| drop(m.remove("rope_local_base_freq"))), "rope_local_base_freq"),
        // A scaling without the base that it scales.
        (edited(|m| drop(m.remove("rope_theta"))), "rope_scaling.rope_theta"),
        (
            changed(GEMMA, |m| {
                m.insert("rope_parameters".into(), serde_json::json!({"rope_theta": 1e6}));
            }),
            "rope_parameters.full_attention",
        ),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn what_an_architecture_does_not_have_is_refused_by_name() {
    let cases: [(&str, &str, Value); 11] = [
        (GEMMA, "hidden_activation", "gelu".into()),
        (GEMMA, "hidden_activation", Value::Null),
        (GEMMA, "final_logit_softcapping", serde_json::json!(30.0)),
        (GEMMA, "use_bidirectional_attention", true.into()),
        (GEMMA, "query_pre_attn_scalar", Value::Null),
        (GEMMA, "head_dim", Value::Null),
        (GEMMA, "layer_types", serde_json::json!(["full_attention"])),
        (GEMMA, "sliding_window", 0.into()),
        (QWEN, "use_sliding_window", "no".into()),
        (QWEN, "layer_types", vec!["linear_attention"; 4].into()),
        (MISTRAL, "sliding_window", serde_json::json!("wide")),
    ];
    for (from, field, value) in cases {
        let error = refusal(from, field, &value);
        let named = error.contains(field) || field == "hidden_activation" && error.contains("hidden_act");
        assert!(named, "{field}: {error}");
    }
    let error = refusal(LLAMA_3_2, "sliding_window", &4096.into());
    assert!(error.contains("sliding_window"), "{error}");
    let error = refusal(LLAMA_3_2, "model_type", &"gemma3".into());
    assert!(error.contains("model_type") && error.contains("gemma3_text"), "{error}");
}

/// The refusal of a rope with these settings, or the configuration that they give.
fn with_rope(rope: &Value) -> Result<ModelConfig, DecoderError> {
    read(&edited(|m| {
        m.insert("rope_scaling".into(), rope.clone());
        m["head_dim"] = 8.into();
    }))
}

#[test]
fn yarn_is_read_with_the_defaults_of_its_paper_and_the_factor_that_follows_from_lengths() {
    let rope = serde_json::json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768});
    let config = with_rope(&rope).unwrap();
    let RopeScaling::Yarn { factor, beta_fast, beta_slow, truncate, magnitude, .. } = config.rope.scaling
    else {
        panic!("{:?}", config.rope)
    };
    assert_eq!((factor, beta_fast, beta_slow, truncate), (4.0, 32.0, 1.0, true));
    assert!((magnitude - 1.138_629_436).abs() < 1e-9);
    // 131,072 tokens of a model that was made for 32,768; the ratio of two scales.
    let deepseek = serde_json::json!({"rope_type": "yarn", "original_max_position_embeddings": 32768,
        "mscale": 1.0, "mscale_all_dim": 0.5, "beta_fast": 16, "truncate": false});
    let config = with_rope(&deepseek).unwrap();
    let RopeScaling::Yarn { factor, beta_fast, truncate, magnitude, .. } = config.rope.scaling else {
        panic!("{:?}", config.rope)
    };
    assert_eq!((factor, beta_fast, truncate), (4.0, 16.0, false));
    assert!((magnitude - 1.138_629_436 / 1.069_314_718).abs() < 1e-9);
    for (field, value) in [
        ("original_max_position_embeddings", Value::Null),
        ("factor", serde_json::json!(-1)),
        ("beta_slow", serde_json::json!(40)),
        ("attention_factor", serde_json::json!("x")),
    ] {
        let mut wrong = rope.clone();
        wrong[field] = value;
        let error = with_rope(&wrong).unwrap_err().to_string();
        let named = if field == "beta_slow" { "beta_fast" } else { field };
        assert!(error.contains(named), "{field}: {error}");
    }
}

#[test]
fn longrope_is_read_up_to_the_original_context_and_no_further() {
    let short = [1.0, 1.1, 1.5, 2.0];
    for name in ["longrope", "su"] {
        let rope = serde_json::json!({"type": name, "short_factor": short, "long_factor": [1.0, 2.0, 8.0, 32.0],
            "original_max_position_embeddings": 4096});
        let config = with_rope(&rope).unwrap();
        assert_eq!(config.context_length, 4096);
        let RopeScaling::LongRope { divisors, magnitude, .. } = &config.rope.scaling else {
            panic!("{:?}", config.rope)
        };
        assert_eq!(divisors[..], [1.0, 1.1, 1.5, 2.0]);
        assert!((magnitude - 1.190_238_071).abs() < 1e-9);
        for (field, value) in [
            ("short_factor", serde_json::json!([1.0, 1.1])),
            ("short_factor", serde_json::json!([1.0, 1.1, 0.0, 1.0])),
            ("long_factor", Value::Null),
            ("original_max_position_embeddings", serde_json::json!(0)),
        ] {
            let mut wrong = rope.clone();
            wrong[field] = value;
            let error = with_rope(&wrong).unwrap_err().to_string();
            assert!(error.contains(field), "{field}: {error}");
        }
    }
}

#[test]
fn dynamic_scaling_changes_nothing_within_the_context_that_is_ever_read() {
    let config = with_rope(&serde_json::json!({"type": "dynamic", "factor": 2.0})).unwrap();
    assert_eq!((config.rope.scaling, config.context_length), (RopeScaling::None, 131_072));
    assert!(with_rope(&serde_json::json!({"type": "dynamic"})).is_err());
}
