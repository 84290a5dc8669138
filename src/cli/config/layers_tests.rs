use super::*;

fn load(file: Option<&str>, variables: &[(&str, &str)]) -> Outcome<Configuration> {
    let folder = tempfile::tempdir().unwrap();
    if let Some(text) = file {
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
    }
    let mut set: BTreeMap<String, OsString> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
    set.insert("RAGSCOPE_CONFIG_DIR".into(), folder.path().into());
    let names: Vec<String> = set.keys().cloned().collect();
    Configuration::load(&|name| set.get(name).cloned(), &names)
}

fn refused(file: Option<&str>, variables: &[(&str, &str)]) -> String {
    load(file, variables).unwrap_err().message()
}

#[test]
fn the_command_line_is_over_the_environment_over_the_file_over_what_is_built_in() {
    let file = "theme = \"light\"\nalpha = 0.2\nfactuality = 1\n\ntop_k = 7\nmouse = false\n";
    let mut configuration = load(Some(file), &[("RAGSCOPE_ALPHA", "0.3"), ("RAGSCOPE_RHO", "0.9")]).unwrap();
    configuration.say("rho", Some(Value::Number(0.8))).unwrap();
    configuration.say("token_threshold", None).unwrap();
    configuration.heads_say(&Thresholds { token: 0.4, ..Thresholds::default() });
    assert_eq!(configuration.text("theme"), Some("light"));
    assert_eq!(configuration.number("alpha"), Some(0.3));
    assert_eq!(configuration.number("factuality"), Some(1.0));
    assert_eq!(configuration.number("rho"), Some(0.8));
    assert_eq!(configuration.number("token_threshold"), Some(0.4));
    assert_eq!((configuration.count("top_k"), configuration.flag("mouse")), (Some(7), Some(false)));
    assert_eq!(configuration.get("model"), None);
    let origin = |name: &str| configuration.get(name).unwrap().1.to_string();
    assert!(origin("top_k").ends_with("config.toml, line 5"), "{}", origin("top_k"));
    assert_eq!(
        [origin("alpha"), origin("rho"), origin("token_threshold")],
        ["RAGSCOPE_ALPHA", "--rho", "the heads"]
    );
    assert_eq!(configuration.count_from_file(), 4);
}

#[test]
fn a_missing_file_and_an_empty_variable_say_nothing() {
    let configuration = load(None, &[("RAGSCOPE_THEME", "")]).unwrap();
    assert!(configuration.values.is_empty() && configuration.notes().is_empty());
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_file_line_and_what_was_expected() {
    for (text, said) in [
        ("\nthem = \"light\"", "config.toml, line 2: there is no setting \"them\"; is it \"theme\"?"),
        ("zzz = 1", "`ragscope config` lists them"),
        ("theme = \"blue\"", "line 1: theme: there is no theme \"blue\""),
        ("theme = 3", "a text in quotes, but 3 came"),
        ("alpha = \"0.1\"", "a number from 0 to 1 in whole thousandths"),
        ("alpha = 0.0005", "whole thousandths"),
        ("rho = 0.2", "from 0.5 to 0.9999, but 0.2 came"),
        ("rho = nan", "from 0.5"),
        ("top_k = 0", "a whole number from 1"),
        ("top_k = -3", "a whole number from 1"),
        ("mouse = \"yes\"", "true or false"),
        ("heads = \"\"", "a path in quotes"),
        ("[theme]\nname = 1", "no value of a setting"),
        ("device = \"gpu\"", "device: "),
        ("theme = ", "expected lines like"),
    ] {
        let message = refused(Some(text), &[]);
        assert!(message.contains(said), "{text:?}: {message}");
    }
    let both = refused(Some("a = 1\nb = 2\n"), &[]);
    assert!(both.contains("line 1") && both.contains("line 2"), "all problems at once: {both}");
}

#[test]
fn a_variable_that_is_no_value_is_a_fault_of_usage_and_a_slip_in_its_name_is_told() {
    let failure = load(None, &[("RAGSCOPE_TOP_K", "many")]).unwrap_err();
    assert!(
        matches!(&failure, Failure::Usage(text) if text.contains("RAGSCOPE_TOP_K") && text.contains("many"))
    );
    let configuration = load(None, &[("RAGSCOPE_THEM", "light"), ("RAGSCOPE_MOUSE", "off")]).unwrap();
    assert_eq!(configuration.notes(), ["RAGSCOPE_THEM is no setting; is it RAGSCOPE_THEME?"]);
    assert_eq!(configuration.flag("mouse"), Some(false));
}

#[test]
fn a_path_in_the_file_is_seen_from_the_file() {
    let configuration = load(Some("heads = \"mine\""), &[]).unwrap();
    let heads = PathBuf::from(configuration.text("heads").unwrap());
    assert!(heads.is_absolute() && heads.ends_with("mine"));
}

#[test]
fn every_example_and_built_in_word_of_the_table_is_a_value_of_its_setting() {
    for setting in SETTINGS {
        let text = format!("{} = {}", setting.name, setting.kind.example());
        assert!(read_file(&text, Path::new("config.toml")).is_ok(), "{text}");
        if matches!(setting.kind, Kind::Word { .. } | Kind::Flag | Kind::Count) {
            assert!(setting.kind.of_text(setting.built_in).is_ok(), "{}", setting.name);
        }
    }
}
