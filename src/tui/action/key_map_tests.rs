use super::*;

fn map(text: &str) -> KeyMap {
    KeyMap::parse(text).unwrap().0
}

fn wrong(text: &str) -> Vec<(usize, String)> {
    KeyMap::parse(text).unwrap_err().into_iter().map(|note| (note.line, note.text)).collect()
}

fn entry(name: &str) -> &'static Entry {
    ACTIONS.iter().find(|entry| entry.name == name).unwrap()
}

fn names(map: &KeyMap, action: &str) -> Vec<String> {
    map.keys(entry(action)).iter().map(|key| key.name()).collect()
}

#[test]
fn an_action_that_the_file_names_has_its_keys_only_and_the_others_keep_theirs() {
    let map = map("# mine\nexample-down = [\"n\", \"Down\", \"Ctrl-n\"]\nnext-span = \")\"\n");
    assert_eq!(names(&map, "example-down"), ["n", "Down", "Ctrl-n"]);
    assert_eq!(names(&map, "next-span"), [")"]);
    assert_eq!(names(&map, "example-up"), ["k", "Up"]);
    let j: Key = "j".parse().unwrap();
    assert!(map.find(entry("example-down").context, j).is_none());
    assert_eq!(map.label(Command::NextSpan), ")");
}

#[test]
fn an_empty_file_is_the_table() {
    assert_eq!(KeyMap::parse("").unwrap(), (KeyMap::default(), Vec::new()));
}

#[test]
fn every_action_of_the_table_can_be_given_another_key() {
    for action in ACTIONS {
        let text = format!("{} = [\"F9\"]\n", action.name);
        let (map, _) = KeyMap::parse(&text).unwrap_or_else(|wrong| panic!("{}: {wrong:?}", action.name));
        assert_eq!(names(&map, action.name), ["F9"]);
    }
}

#[test]
fn what_the_printed_names_say_reads_back_as_the_same_map() {
    let text: String = ACTIONS
        .iter()
        .map(|entry| {
            format!("{} = {:?}\n", entry.name, entry.keys.iter().map(|key| key.name()).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(map(&text), KeyMap::default());
}

#[test]
fn what_is_wrong_is_named_by_line_with_what_was_expected() {
    for (text, line, said) in [
        ("\nnext-spam = \"x\"\n", 2, "is it \"next-span\"?"),
        ("zzz = \"x\"", 1, "`ragscope keys` lists them"),
        ("next-span = [\"x\", \"Hyper-x\"]", 1, "\"Hyper-x\" is no key: expected"),
        ("next-span = 3", 1, "expected a list of keys"),
        ("next-span = [3]", 1, "expected a key in quotes"),
        ("next-span = [\"x\"", 1, "expected lines like"),
        ("# a\nnext-span = \"x\"\nnext-span = \"y\"\n", 3, "duplicate"),
        ("quit = []", 1, "at least one key"),
        ("prompt-leave = []", 1, "at least one key"),
        ("prompt-accept = \"y\"", 1, "a prompt types \"y\""),
        ("next-span = \"Ctrl-c\"", 1, "always quits"),
    ] {
        let found = wrong(text);
        assert!(found.iter().any(|(at, text)| *at == line && text.contains(said)), "{text:?}: {found:?}");
    }
}

#[test]
fn two_actions_of_a_context_with_one_key_are_told_once_and_where() {
    assert_eq!(
        wrong("example-down = \"x\"\nexample-up = \"x\"\n"),
        [(
            2,
            "example-up: x has two meanings in Examples: line 1 gives it to example-down already".to_owned()
        )]
    );
    let with_default = wrong("example-down = \"k\"\n");
    assert_eq!(with_default.len(), 1);
    assert!(with_default[0].1.contains("example-up's") && with_default[0].1.contains("example-up = []"));
    // Swapping two keys is no conflict.
    let swapped = map("example-down = \"k\"\nexample-up = \"j\"\n");
    assert_eq!(
        (names(&swapped, "example-down"), names(&swapped, "example-up")),
        (vec!["k".into()], vec!["j".into()])
    );
}

#[test]
fn keys_that_others_take_and_keys_that_hide_an_action_are_warnings() {
    let (_, warnings) =
        KeyMap::parse("next-span = \"Ctrl-b\"\nexample-down = \"?\"\nzoom = \"0\"\n").unwrap();
    let said: Vec<(usize, &str)> = warnings.iter().map(|note| (note.line, note.text.as_str())).collect();
    assert_eq!(
        said,
        [
            (1, "next-span: Ctrl-b may not arrive: tmux takes it"),
            (2, "? is example-down in Examples, so it is not help there"),
            (3, "0 is type-zero in Sliders, so it is not zoom there"),
        ]
    );
}
