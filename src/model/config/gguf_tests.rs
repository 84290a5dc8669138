use super::*;

/// A small Llama, with what `more` says of its rotation.
fn rope_of(more: &[(&str, Value)], tensors: RopeTensors) -> Result<RopeConfig, DecoderError> {
    let count = |key: &str, value: u32| (format!("llama.{key}"), Value::U32(value));
    let mut metadata: HashMap<String, Value> = [
        count("block_count", 2),
        count("context_length", 131_072),
        count("embedding_length", 32),
        count("feed_forward_length", 48),
        count("attention.head_count", 4),
        ("llama.attention.layer_norm_rms_epsilon".to_owned(), Value::F32(1e-5)),
        ("general.architecture".to_owned(), Value::String("llama".to_owned())),
    ]
    .into();
    metadata.extend(more.iter().map(|(key, value)| (format!("llama.rope.{key}"), value.clone())));
    from_metadata(&metadata, 96, tensors, Path::new("small.gguf")).map(|config| config.rope)
}

fn named(kind: &str) -> (&'static str, Value) {
    ("scaling.type", Value::String(kind.to_owned()))
}

#[test]
fn yarn_in_a_file_has_its_own_magnitude_on_top_of_that_of_its_factor() {
    let original = ("scaling.original_context_length", Value::U32(32_768));
    let factor = ("scaling.factor", Value::F32(4.0));
    let rope = rope_of(&[named("yarn"), original.clone(), factor.clone()], RopeTensors::default()).unwrap();
    let usual = RopeScaling::Yarn {
        factor: 4.0,
        original_context_length: 32_768.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: true,
        magnitude: yarn_magnitude(4.0, 1.0),
    };
    assert_eq!(rope.scaling, usual);
    let own = [
        named("yarn"),
        original,
        factor,
        ("scaling.attn_factor", Value::F32(0.5)),
        ("scaling.yarn_beta_fast", Value::F32(16.0)),
        ("scaling.yarn_beta_slow", Value::F32(2.0)),
    ];
    let RopeScaling::Yarn { magnitude, beta_fast, beta_slow, .. } =
        rope_of(&own, RopeTensors::default()).unwrap().scaling
    else {
        panic!("yarn is yarn")
    };
    assert_eq!((beta_fast, beta_slow), (16.0, 2.0));
    assert!((magnitude - 0.5 * yarn_magnitude(4.0, 1.0)).abs() < 1e-12);
}

#[test]
fn yarn_without_its_factor_or_original_context_is_refused_by_field() {
    let error = rope_of(&[named("yarn")], RopeTensors::default()).unwrap_err().to_string();
    assert!(error.contains("llama.rope.scaling.factor"), "{error}");
    let factor = ("scaling.factor", Value::F32(4.0));
    let error = rope_of(&[named("yarn"), factor], RopeTensors::default()).unwrap_err().to_string();
    assert!(error.contains("llama.rope.scaling.original_context_length"), "{error}");
}

#[test]
fn longrope_in_a_file_takes_the_short_factors_and_the_magnitude_that_is_written() {
    let tensors = || RopeTensors { divisors: None, short_factors: Some(vec![1.0, 1.1, 1.2, 1.3]) };
    let more = [
        named("longrope"),
        ("scaling.original_context_length", Value::U32(4_096)),
        ("scaling.attn_factor", Value::F32(1.19)),
    ];
    let expected = RopeScaling::LongRope {
        divisors: vec![1.0, 1.1, 1.2, 1.3],
        original_context_length: 4_096,
        magnitude: f64::from(1.19f32),
    };
    assert_eq!(rope_of(&more, tensors()).unwrap().scaling, expected);
    // Some converters leave the name out.
    assert_eq!(rope_of(&more[1..], tensors()).unwrap().scaling, expected);
    let error = rope_of(&more, RopeTensors::default()).unwrap_err().to_string();
    assert!(error.contains("rope_factors_short.weight"), "{error}");
    let short = RopeTensors { divisors: None, short_factors: Some(vec![1.0]) };
    assert!(rope_of(&more, short).unwrap_err().to_string().contains("4 values"));
}
