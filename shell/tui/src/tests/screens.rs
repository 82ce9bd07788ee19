//! What a person sees, at three sizes.

use super::*;

fn conversation() -> Vec<Row> {
    vec![
        row(1, Voice::Message, "Prüfe die Datei 漢字.txt und sag mir, was darin steht 🙂"),
        row(2, Voice::Activity, "$ cat 漢字.txt\n  こんにちは世界"),
        row(3, Voice::Aside, "turn 1 begins"),
        row(
            4,
            Voice::Brief,
            "# Result\n\nThe file has **one** line:\n\n- こんにちは世界, which means *hello world* 🌏",
        ),
        row(5, Voice::Ask, "May I delete 漢字.txt?"),
    ]
}

fn at(width: u16, height: u16) -> Model {
    let mut model = model(width, height);
    update(&mut model, loaded(conversation(), false));
    typed(&mut model, "いいえ, keep it 👍");
    model
}

#[test]
fn the_conversation_fits_every_size() {
    insta::assert_snapshot!("conversation_40x10", screen(&at(40, 10)));
    insta::assert_snapshot!("conversation_80x24", screen(&at(80, 24)));
    insta::assert_snapshot!("conversation_120x40", screen(&at(120, 40)));
}

#[test]
fn a_list_lies_over_the_conversation() {
    let mut model = model(80, 24);
    update(&mut model, loaded(conversation(), false));
    press(&mut model, KeyCode::F(2));
    let entries = vec![
        crate::entry::Entry::of("main · idle", crate::entry::Target::Agent(agent())),
        crate::entry::Entry::line("helper · active turn"),
    ];
    update(&mut model, Msg::Answer(Answer::Opened(agent(), crate::overlay::Kind::Agents, Ok(entries))));
    insta::assert_snapshot!("agents_80x24", screen(&model));
}

#[test]
fn commands_are_completed_above_the_composer() {
    let mut model = model(80, 24);
    update(&mut model, loaded(conversation(), false));
    typed(&mut model, "/a");
    insta::assert_snapshot!("completions_80x24", screen(&model));
}

#[test]
fn without_a_runtime_it_offers_to_start_one() {
    let mut model = model(80, 24);
    let problem = "the runtime can't be reached".to_owned();
    let again = update(&mut model, Msg::Answer(Answer::LoadFailed { agent: agent(), again: true, problem }));
    assert_eq!(again, [Request::Load(agent())]);
    let shown = screen(&model);
    assert!(shown.contains("No runtime answers") && shown.contains("holon daemon start"), "{shown}");
    let key = KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL);
    assert_eq!(update(&mut model, Msg::Key(key, Millis(0))), [Request::StartRuntime]);
}

#[test]
fn an_agent_that_is_not_there_leaves_the_console_where_it_was() {
    let mut model = at(80, 24);
    model.composer.clear();
    typed(&mut model, "/agent nobody");
    let nobody = AgentId::new("nobody").unwrap();
    assert_eq!(press(&mut model, KeyCode::Enter), [Request::Load(nobody.clone())]);
    let problem = "there is no agent nobody".to_owned();
    let failed = Answer::LoadFailed { agent: nobody, again: false, problem };
    assert_eq!(update(&mut model, Msg::Answer(failed)), [Request::Load(agent())]);
    update(&mut model, loaded(conversation(), false));
    let shown = screen(&model);
    assert!(shown.contains("main") && shown.contains("there is no agent nobody"), "{shown}");
}

#[test]
fn a_long_name_of_a_model_leaves_the_status_line_to_the_rest() {
    let mut model = at(80, 24);
    model.status.model = Some(format!("scripted/{}/漢字.json", "folder/".repeat(20)));
    let shown = screen(&model);
    let status = shown.lines().next().unwrap();
    assert!(status.contains("漢字.json · 1200 tokens $0.01 today · connected"), "{status}");
}

#[test]
fn what_is_too_small_shows_one_line() {
    assert!(screen(&at(39, 10)).contains("smaller than 40x10"));
}
