use std::fs;

use super::super::small_model::{CHATML, metadata, real_metadata};
use super::*;

fn written(layout: &ChatLayout) -> String {
    layout
        .pieces
        .iter()
        .map(|piece| match piece {
            ChatPiece::Template(text) => text.as_str(),
            ChatPiece::System => "[S]",
            ChatPiece::User => "[U]",
        })
        .collect()
}

fn both(source: &str) -> (String, String) {
    let chat = ChatTemplate::from_source(source).unwrap();
    (written(chat.layout(true)), written(chat.layout(false)))
}

fn refusal(source: &str) -> String {
    ChatTemplate::from_source(source).unwrap_err().to_string()
}

const CHATML_SYSTEM: &str =
    "<|im_start|>system\n[S]<|im_end|>\n<|im_start|>user\n[U]<|im_end|>\n<|im_start|>assistant\n";

#[test]
fn chatml_has_holes_where_the_messages_go() {
    let (with, without) = both(CHATML);
    assert_eq!(with, CHATML_SYSTEM);
    assert_eq!(
        without,
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n[U]<|im_end|>\n<|im_start|>assistant\n"
    );
    let chat = ChatTemplate::from_source(CHATML).unwrap();
    assert!(!chat.layout(true).trims_start && !chat.layout(true).trims_end);
}

#[test]
fn the_default_model_has_the_template_it_was_trained_with() {
    let Some(metadata) = real_metadata("the_default_model_has_the_template_it_was_trained_with") else {
        return;
    };
    let chat = ChatTemplate::from_gguf(&metadata).unwrap();
    assert_eq!(written(chat.layout(true)), CHATML_SYSTEM);
    assert!(written(chat.layout(false)).contains("named SmolLM, trained by Hugging Face<|im_end|>"));
}

#[test]
fn a_template_that_trims_is_found_out_side_by_side() {
    let of = |content: &str| {
        let source = format!("{{% for m in messages %}}<{{{{ {content} }}}}>{{% endfor %}}");
        let chat = ChatTemplate::from_source(&source).unwrap();
        assert_eq!(written(chat.layout(true)), "<[S]><[U]>");
        (chat.layout(true).trims_start, chat.layout(true).trims_end)
    };
    assert_eq!(of("m.content"), (false, false));
    assert_eq!(of("m.content | trim"), (true, true));
    assert_eq!(of("m['content'].strip()"), (true, true));
    assert_eq!(of("m.content.lstrip()"), (true, false));
    assert_eq!(of("m.content.rstrip()"), (false, true));
}

#[test]
fn a_refused_or_dropped_system_message_goes_to_the_head_of_the_user_message() {
    let body = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}<model>";
    let refusing = format!(
        "{{% if messages[0].role == 'system' %}}{{{{ raise_exception('no system role') }}}}{{% endif %}}{body}"
    );
    let dropping = "{% for m in messages %}{% if m.role == 'user' %}<user>{{ m.content | trim }}{% endif %}{% endfor %}<model>";
    for source in [refusing.as_str(), dropping] {
        let (with, without) = both(source);
        assert_eq!(with.split_whitespace().collect::<Vec<_>>(), ["<user>[S]", "[U]<model>"]);
        assert_eq!(without, "<user>[U]<model>");
    }
}

#[test]
fn what_templates_of_other_models_use_is_there() {
    let source = "{{ bos_token }}{%- set ns = namespace(found=false) -%}
{%- if tools is not none %}{{ tools }}{% endif %}
{% generation %}
{%- for message in loop_messages | default(messages) %}
    {%- if message.role == 'system' %}{% continue %}{% endif %}
    {%- if message['content'] is string and not message.content.startswith('x') %}
        {%- set ns.found = true %}
        {{- '[INST] ' + message['content'] + ' [/INST]' }}
    {%- endif %}
    {%- for i in range(3) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}
{%- endfor -%}
{%- endgeneration -%}
{{ ns.found }} {{ strftime_now('%d %b %Y') }} {{ {'a': '<b>'} | tojson }} {{ enable_thinking }}";
    let chat = ChatTemplate::from_source(source).unwrap();
    let text = written(chat.layout(false));
    assert!(text.starts_with("[INST] [U] [/INST]01"), "{text}");
    assert!(text.to_lowercase().contains("true 26 jul 2024 "), "{text}");
}

#[test]
fn the_first_line_feed_behind_a_tag_goes_as_in_transformers() {
    let source =
        "{% for m in messages %}\n    {% if true %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}\nend";
    assert_eq!(both(source).1, "[U]\nend");
}

#[test]
fn special_tokens_come_from_the_model_file() {
    let source = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{{ eos_token }}";
    let chat = ChatTemplate::from_gguf(&metadata(source, &[], &[]).metadata()).unwrap();
    assert_eq!(written(chat.layout(false)), "<|im_start|>[U]<|im_end|>");
}

#[test]
fn a_model_without_a_template_gets_the_plain_form() {
    assert_eq!(written(ChatTemplate::plain().layout(true)), "[S]\n[U]\n");
    assert_eq!(written(ChatTemplate::plain().layout(false)), "[U]\n");
    let chat = ChatTemplate::from_gguf(&metadata("", &[], &[]).metadata()).unwrap();
    assert_eq!((chat.source(), written(chat.layout(false)).as_str()), (None, "[U]\n"));
    let asks = metadata("", &[], &[]).flag("tokenizer.ggml.add_bos_token", true);
    let chat = ChatTemplate::from_gguf(&asks.metadata()).unwrap();
    assert_eq!(written(chat.layout(false)), "<|im_start|>[U]\n");
}

#[test]
fn a_directory_gives_its_template_in_any_of_three_places() {
    let folder = tempfile::tempdir().unwrap();
    let of = || written(ChatTemplate::from_directory(folder.path()).unwrap().layout(false));
    assert_eq!(of(), "[U]\n");
    let config = |template: &str| {
        let text = format!(
            r#"{{"bos_token": {{"content": "<s>"}}, "eos_token": "</s>", "chat_template": {template}}}"#
        );
        fs::write(folder.path().join("tokenizer_config.json"), text).unwrap();
    };
    config(r#""{{ bos_token }}{{ messages[-1].content }}{{ eos_token }}""#);
    assert_eq!(of(), "<s>[U]</s>");
    config(
        r#"[{"name": "rag", "template": "x"}, {"name": "default", "template": "d{{ messages[-1].content }}"}]"#,
    );
    assert_eq!(of(), "d[U]");
    fs::write(folder.path().join("chat_template.jinja"), "f{{ messages[-1].content }}").unwrap();
    assert_eq!(of(), "f[U]");
    fs::write(folder.path().join("tokenizer_config.json"), "{").unwrap();
    let message = ChatTemplate::from_directory(folder.path()).unwrap_err().to_string();
    assert!(message.contains("tokenizer_config.json: "), "{message}");
}

#[test]
fn templates_that_lose_or_repeat_the_message_are_refused() {
    assert!(refusal("no message").contains("the user message 0 times"));
    assert!(refusal("{{ messages[-1].content * 2 }}").contains("the user message 2 times"));
    assert!(refusal("{{ messages[-1].content | upper }}").contains("0 times"));
}

#[test]
fn broken_templates_say_what_and_where() {
    assert!(refusal("a\n{% if %}{{ messages[0].content }}").contains("line 2"));
    let raised = refusal("{{ raise_exception('no \u{1b}[2J') }}");
    assert!(raised.contains("it says: no ␛[2J") && !raised.contains('\u{1b}'), "{raised}");
    assert!(refusal("{% include 'x' %}").contains("cannot be used"));
    assert!(refusal(&"x".repeat(MAX_SOURCE + 1)).contains("more than"));
}

#[test]
fn a_template_that_names_the_mark_gets_another_mark() {
    let source = "ragscope0mark {{ messages[-1].content }} ragscope0markuser ragscope1mark";
    assert_eq!(both(source).1, "ragscope0mark [U] ragscope0markuser ragscope1mark");
}

#[test]
fn hostile_templates_run_out_instead_of_running_on() {
    let long = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    let doubling = "{% set ns = namespace(s='xxxxxxxx') %}{% for a in range(999) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";
    let lists =
        "{% set ns = namespace(s=[1,2]) %}{% for a in range(999) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
    let writing = "{% set s = 'x' * 10000 * 100 %}{% for a in range(999) %}{{ s }}{% endfor %}";
    let captured = "{% macro m(s) %}{{ s }}{{ s }}{% endmacro %}{% set ns = namespace(s='xxxx') %}{% for a in range(999) %}{% set ns.s = m(ns.s) %}{% endfor %}";
    let recursive =
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}";
    let deep = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}";
    let replacing = "{% set s = 'x' * 9999 %}{{ s|replace('x', s)|replace('x', s) }}";
    let method = "{% set s = 'x' * 9999 %}{{ s.replace('x', s).replace('x', s) }}";
    let characters = "{{ ('x' * 9999 * 9999)|list|length }}";
    let joining = "{% set l = ['x' * 9999] * 9999 %}{{ l|join('x' * 9999) }}";
    let lazy = "{% set l = ['x'] * 9999 %}{{ '' ~ (l * 9999) }}";
    let cyclic = "{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}";
    let binding = "{% with a = 'x' * 9999 %}{% with b = a ~ a ~ a %}{% for c in [b * 9999] %}{{ [c, c]|tojson }}{% endfor %}{% endwith %}{% endwith %}";
    for source in [
        long, doubling, lists, writing, captured, recursive, replacing, method, characters, joining, lazy,
        cyclic, binding,
    ] {
        let told = refusal(source);
        assert!(told.contains("runs too long") || told.contains("too large"), "{source}: {told}");
    }
    assert!(refusal(deep).contains("recursion"), "{}", refusal(deep));
    assert!(refusal("{{ range(100000) }}").contains("range is too long"));
}
