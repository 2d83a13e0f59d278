use serde_json::value::RawValue;

use super::*;
use crate::canonical::Turn;

fn request(source: Dialect, tools: Vec<Tool>, choice: Option<ToolChoice>) -> Request {
    Request { tools, tool_choice: choice, parallel_tool_calls: Some(true), ..Request::new("m", source) }
}

fn tool(name: &str, kind: ToolKind) -> Tool {
    Tool { name: name.to_owned(), kind, ..Tool::default() }
}

fn server(kind: &str) -> Tool {
    tool(kind, ToolKind::Server(kind.to_owned()))
}

fn names<'f>(fitted: &'f Tooling<'_>) -> Vec<&'f str> {
    fitted.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn tools_of_the_vendor_go_where_they_run_and_nowhere_else() {
    for (source, dialect, with_function, kept) in [
        (Dialect::Responses, Dialect::Messages, true, &["web_search"][..]),
        (Dialect::Responses, Dialect::Chat, true, &[]),
        (Dialect::Responses, Dialect::Gemini, true, &[]),
        (Dialect::Responses, Dialect::Gemini, false, &["web_search", "code_interpreter", "url_context"]),
        (Dialect::Messages, Dialect::Responses, true, &["web_search", "code_interpreter"]),
        (Dialect::Chat, Dialect::Chat, true, &["web_search", "code_interpreter", "url_context", "computer"]),
    ] {
        let mut tools: Vec<Tool> = ["web_search", "code_interpreter", "url_context", "computer"].map(server).into();
        tools.extend(with_function.then(|| tool("ls", ToolKind::Function)));
        let request = request(source, tools, None);
        let fitted = fit(&request, dialect, &Target::unknown("m")).unwrap();
        let expected: Vec<_> = kept.iter().copied().chain(with_function.then_some("ls")).collect();
        assert_eq!(names(&fitted), expected, "{source:?} to {dialect:?}");
        assert_eq!(fitted.warnings.len(), 4 - kept.len());
        assert!(fitted.warnings.iter().all(|warning| warning.code == "DROPPED_TOOL"));
    }
}

#[test]
fn a_tool_that_is_forced_or_insisted_on_is_refused_by_name() {
    let forced = request(Dialect::Responses, vec![server("computer")], Some(ToolChoice::One("computer".to_owned())));
    let strict = Target { foreign_tools: ForeignTools::Refuse, ..Target::unknown("m") };
    let alone = Target { foreign_tools: ForeignTools::RefuseAlone, ..Target::unknown("m") };
    let wished = request(Dialect::Responses, vec![server("computer")], None);
    let spare = request(Dialect::Responses, vec![server("computer"), tool("ls", ToolKind::Function)], None);
    assert!(fit(&spare, Dialect::Chat, &alone).is_ok());
    for (request, target) in
        [(&forced, &Target::unknown("m")), (&wished, &strict), (&wished, &alone), (&spare, &strict)]
    {
        let refusal = fit(request, Dialect::Chat, target).unwrap_err();
        assert_eq!((refusal.code, refusal.field.as_str()), ("unsupported_tool", "tools"));
        assert!(refusal.message.contains("`computer`"));
    }
}

#[test]
fn a_choice_follows_the_tools_that_are_left() {
    let subset = |required| ToolChoice::Subset { names: vec!["a".to_owned(), "computer".to_owned()], required };
    let left = ToolChoice::Subset { names: vec!["a".to_owned()], required: true };
    for (choice, dialect, expected, tools) in [
        (ToolChoice::Any, Dialect::Messages, Some(ToolChoice::Any), 2),
        (subset(true), Dialect::Messages, Some(ToolChoice::Any), 1),
        (subset(false), Dialect::Messages, Some(ToolChoice::Auto), 1),
        (subset(true), Dialect::Chat, Some(ToolChoice::Any), 1),
        (subset(true), Dialect::Gemini, Some(left.clone()), 2),
        (subset(false), Dialect::Gemini, Some(ToolChoice::Auto), 1),
        (subset(true), Dialect::Responses, Some(left), 2),
        (ToolChoice::One("gone".to_owned()), Dialect::Chat, None, 2),
    ] {
        let all = vec![tool("a", ToolKind::Function), tool("b", ToolKind::Function), server("computer")];
        let source = if dialect == Dialect::Responses { Dialect::Chat } else { Dialect::Responses };
        let request = request(source, all, Some(choice.clone()));
        let fitted = fit(&request, dialect, &Target::unknown("m")).unwrap();
        assert_eq!((&fitted.choice, fitted.tools.len()), (&expected, tools), "{choice:?} to {dialect:?}");
    }
    let nothing = request(Dialect::Responses, vec![server("computer")], Some(ToolChoice::Any));
    let fitted = fit(&nothing, Dialect::Chat, &Target::unknown("m")).unwrap();
    assert_eq!((fitted.choice, fitted.parallel), (None, None));
}

#[test]
fn tools_called_with_text_become_functions_that_say_their_grammar() {
    let definition = r#"{"format":{"type":"grammar","syntax":"lark","definition":"start: X"}}"#;
    let nested = r#"{"custom":{"format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: X"}}}}"#;
    for definition in [definition, nested] {
        let patch = Tool {
            description: Some("Edits.".to_owned()),
            definition: RawValue::from_string(definition.to_owned()).ok(),
            ..tool("apply_patch", ToolKind::Custom)
        };
        let request = request(Dialect::Responses, vec![patch, tool("local_shell", ToolKind::LocalShell)], None);
        let fitted = fit(&request, Dialect::Chat, &Target::unknown("m")).unwrap();
        assert!(fitted.tools.iter().all(|tool| tool.kind == ToolKind::Function && tool.schema.is_some()));
        let description = fitted.tools[0].description.as_deref();
        assert_eq!(description, Some("Edits.\n\nThe text follows this lark grammar:\nstart: X"));
        let own = fit(&request, Dialect::Responses, &Target::unknown("m")).unwrap();
        assert_eq!(own.tools[0].kind, ToolKind::Custom);
    }
}

#[test]
fn a_history_with_calls_and_no_tools_defines_them_and_forbids_them() {
    let call = |name: &str| Part::ToolCall {
        id: "1".to_owned(),
        name: name.to_owned(),
        arguments: String::new(),
        kind: ToolKind::Function,
        signature: None,
        cache: None,
    };
    let turns = vec![Turn { role: Role::Assistant, parts: vec![call("ls"), call("cat"), call("ls")] }];
    let request = Request { turns, ..Request::new("m", Dialect::Chat) };
    let fitted = fit(&request, Dialect::Messages, &Target::unknown("m")).unwrap();
    assert_eq!((names(&fitted), &fitted.choice), (vec!["ls", "cat"], &Some(ToolChoice::None)));
    assert!(fit(&request, Dialect::Chat, &Target::unknown("m")).unwrap().tools.is_empty());
}

#[test]
fn arguments_find_their_way_there_and_back() {
    for (kind, native, emulated) in [
        (ToolKind::Function, r#"{"a": 1}"#, r#"{"a": 1}"#),
        (ToolKind::Custom, "*** Begin\n\"x\"", r#"{"input":"*** Begin\n\"x\""}"#),
        (
            ToolKind::LocalShell,
            r#"{"type":"exec","command":["ls"],"env":{},"working_directory":"/w","timeout_ms":5}"#,
            r#"{"command":["ls"],"workdir":"/w","timeout_ms":5}"#,
        ),
    ] {
        assert_eq!(emulated_arguments(&kind, native), emulated, "{kind:?}");
        assert_eq!(native_arguments(&kind, emulated), native, "{kind:?}");
        assert_eq!(native_arguments(&kind, native), native, "{kind:?}: what is native already stays");
    }
    let wrapped = native_arguments(&ToolKind::LocalShell, r#"{"command":"ls -l"}"#).into_owned();
    assert_eq!(wrapped, r#"{"type":"exec","command":["bash","-lc","ls -l"],"env":{}}"#);
    assert_eq!(flat_name("mcp__mail__", "send"), "mcp__mail__send");
    assert_eq!(flat_name("mail", "send"), "mail__send");
}
