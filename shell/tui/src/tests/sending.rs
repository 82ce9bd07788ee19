//! Whom prompts go to, in which order, and what becomes of those that are not taken.

use super::*;
use crate::entry::{Entry, Target};
use crate::message::{Control, Prompt};
use crate::model::{Link, Recipient};
use crate::output::Piece;
use crate::overlay::Kind;

fn ready() -> Model {
    let mut model = model(80, 24);
    update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false));
    model
}

fn enter(model: &mut Model, text: &str) -> Vec<Request> {
    typed(model, text);
    press(model, KeyCode::Enter)
}

fn prompts(requests: &[Request]) -> Vec<&Prompt> {
    requests
        .iter()
        .filter_map(|request| if let Request::Send(prompt) = request { Some(prompt) } else { None })
        .collect()
}

fn texts(requests: &[Request]) -> Vec<&str> {
    prompts(requests).into_iter().map(|prompt| prompt.text.as_str()).collect()
}

fn not_sent(model: &mut Model, key: &str, again: bool) -> Vec<Request> {
    let (key, problem) = (key.to_owned(), "the ledger is locked".to_owned());
    update(model, Msg::Answer(Answer::NotSent { key, again, problem }))
}

fn sent(model: &mut Model, key: &str) -> Vec<Request> {
    update(model, Msg::Answer(Answer::Sent(key.to_owned())))
}

fn control(model: &mut Model, c: char) -> Vec<Request> {
    update(model, Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL), Millis(0)))
}

#[test]
fn a_prompt_that_is_deferred_shows_why_and_is_sent_again_under_its_key() {
    let mut model = ready();
    let first = enter(&mut model, "hello");
    let key = prompts(&first)[0].key.clone();
    for deferred in 1..=3 {
        let again = not_sent(&mut model, &key, true);
        let [prompt] = prompts(&again)[..] else { panic!("{again:?}") };
        assert_eq!((prompt.key.as_str(), prompt.deferred), (key.as_str(), deferred));
        let shown = screen(&model);
        assert!(
            shown.contains("not sent yet: the ledger is locked") && shown.contains("(sending)"),
            "{shown}"
        );
    }
    sent(&mut model, &key);
    assert!(model.sending.is_empty() && model.notice.is_none());
}

#[test]
fn prompts_of_an_outage_are_sent_one_after_the_other_in_their_order() {
    let mut model = ready();
    update(&mut model, Msg::Connected(false));
    assert_eq!(texts(&enter(&mut model, "one")), ["one"]);
    for text in ["two", "three"] {
        assert!(prompts(&enter(&mut model, text)).is_empty());
    }
    assert_eq!(texts(&not_sent(&mut model, "test-1", true)), ["one"]);
    assert_eq!(model.link, Link::Lost);
    assert!(model.notice.is_none(), "the first line shows what is wrong");
    // Whatever the stream does, each of them is on its way once.
    assert!(prompts(&update(&mut model, Msg::Connected(true))).is_empty());
    assert!(prompts(&update(&mut model, loaded(vec![row(1, Voice::Message, "begin")], false))).is_empty());
    assert_eq!(texts(&sent(&mut model, "test-1")), ["two"]);
    assert!(prompts(&sent(&mut model, "test-1")).is_empty());
    assert_eq!(texts(&not_sent(&mut model, "test-2", false)), ["three"]);
    assert!(prompts(&sent(&mut model, "test-3")).is_empty() && model.sending.is_empty());
}

#[test]
fn prompts_to_another_agent_do_not_wait_for_those_of_the_first() {
    let mut model = ready();
    enter(&mut model, "one");
    enter(&mut model, "/agent other");
    assert_eq!(texts(&enter(&mut model, "two")), ["two"]);
    let shown = screen(&model);
    assert!(shown.contains("one (sending to main)") && shown.contains("two (sending)"), "{shown}");
}

/// An ask of another agent, chosen to be answered.
fn asked(model: &mut Model) -> Recipient {
    let (other, brief) = (AgentId::new("other").unwrap(), "brief_3".parse().unwrap());
    press(model, KeyCode::F(8));
    let entries = Ok(vec![Entry::of("may I?", Target::Ask(other.clone(), brief))]);
    update(model, Msg::Answer(Answer::Opened(agent(), Kind::Inbox, entries)));
    press(model, KeyCode::Enter);
    Recipient::Ask(other, brief)
}

#[test]
fn a_prompt_that_is_refused_comes_back_to_the_composer() {
    let mut model = ready();
    enter(&mut model, "hello");
    not_sent(&mut model, "test-1", false);
    assert_eq!((model.composer.text(), &model.recipient), ("hello", &Recipient::Agent));
    assert!(screen(&model).contains("not sent: the ledger is locked"));
}

#[test]
fn an_answer_that_is_refused_comes_back_for_whom_it_was() {
    let mut model = ready();
    let recipient = asked(&mut model);
    enter(&mut model, "yes");
    assert_eq!(model.recipient, Recipient::Agent);
    not_sent(&mut model, "test-1", false);
    assert_eq!((model.composer.text(), &model.recipient), ("yes", &recipient));
    let again = press(&mut model, KeyCode::Enter);
    let [prompt] = prompts(&again)[..] else { panic!("{again:?}") };
    assert_eq!(Recipient::Ask(prompt.agent.clone(), prompt.answers.unwrap()), recipient);
    // Where something else was begun, that stays, and goes to whom it is for.
    typed(&mut model, "draft");
    not_sent(&mut model, "test-2", false);
    assert_eq!((model.composer.text(), &model.recipient), ("draft", &Recipient::Agent));
    assert!(screen(&model).contains("not sent to other/brief_3"), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "yes");
}

#[test]
fn a_prompt_to_another_agent_that_is_refused_is_only_called_back() {
    let mut model = ready();
    enter(&mut model, "hello");
    enter(&mut model, "/agent other");
    not_sent(&mut model, "test-1", false);
    assert!(model.composer.is_blank() && model.sending.is_empty());
    assert!(screen(&model).contains("not sent to main"), "{}", screen(&model));
    press(&mut model, KeyCode::Up);
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "hello");
}

#[test]
fn a_task_is_fed_only_while_its_output_is_open_and_it_runs() {
    let mut model = ready();
    let (first, second) = ("task_1".parse().unwrap(), "task_2".parse().unwrap());
    update(&mut model, Msg::Answer(Answer::Began(agent(), first)));
    control(&mut model, 't');
    assert_eq!(model.recipient, Recipient::Task(first));
    let written = Control::WriteTask(first, "word\n".to_owned());
    assert_eq!(enter(&mut model, "word"), [Request::Control(agent(), written)]);
    // Another output takes the place of the first one.
    update(&mut model, Msg::Answer(Answer::Began(agent(), second)));
    assert_eq!(model.recipient, Recipient::Agent);
    control(&mut model, 't');
    typed(&mut model, "half a li");
    let serial = model.followed().unwrap();
    update(&mut model, Msg::Output(serial, Piece::End("task_2 is completed".to_owned())));
    assert_eq!(model.recipient, Recipient::Agent);
    // What was meant for the task is not sent to the agent with the next Enter.
    assert!(press(&mut model, KeyCode::Enter).is_empty());
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::Up);
    assert_eq!(model.composer.text(), "half a li");
}
