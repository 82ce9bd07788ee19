// Every action of the console, each checked by what the runtime knows afterwards.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { model } from "./fill.mjs";
import { check, show, test, until } from "./harness.mjs";

/**
 * @param {any} tab
 * @param {(method: string, path: string, body?: object) => Promise<any>} send
 * @param {(on: boolean) => void} expect whether failed requests are caused on purpose
 */
export async function actions(tab, send, expect) {
  const main = tab.locator("main");
  const button = (/** @type {string} */ name) => main.getByRole("button", { name, exact: true });
  const noticed = (/** @type {RegExp} */ text) => until(`the notice ${text}`, async () => text.test(await tab.locator(".notices").innerText()));
  /** Presses a button that asks before it acts. @param {any} what @param {string} label */
  const confirm = async (what, label) => {
    await what.click();
    const dialog = tab.getByRole("dialog", { name: `${label}?` });
    check((await dialog.locator(".command code").last().innerText()).startsWith("holon "), "the dialog does not show the command");
    await dialog.getByRole("button", { name: label, exact: true }).click();
  };

  await test("an ask is answered and closed from the overview", async () => {
    await show(tab, "");
    const asks = () => send("GET", "/inbox").then((reply) => reply.asks.filter((/** @type {any} */ ask) => ask.agent_id === "deploy").length);
    check(await asks() >= 2, "deploy does not ask");
    const first = main.getByRole("article", { name: "Ask deploy/brief_2" });
    await confirm(first.getByRole("button", { name: "Close", exact: true }), "Close");
    await until("the close", async () => (await asks()) === 1);
    const ask = main.getByRole("article", { name: "Ask deploy/brief_1" });
    await ask.getByLabel("Your answer").fill("Yes, deploy it.");
    await ask.getByRole("button", { name: "Answer", exact: true }).click();
    await until("the answer", async () => (await send("GET", "/agents/deploy/transcript")).entries.some((/** @type {any} */ entry) => entry.text === "Yes, deploy it."));
  });

  await test("the last lines of a command are shown while it runs", async () => {
    const cmd = "echo first; printf '10 %%\\r50 %%\\n'; for i in $(seq 60); do sleep 0.1; done; echo last";
    const rounds = [{ text: "I look.", calls: [{ tool: "ExecCommand", arguments: { cmd, login: false } }] }, { text: "Looked." }];
    await send("POST", "/control/agents/printer/create", { model: model("printer", rounds) });
    await show(tab, "agents/printer");
    await send("POST", "/control/agents/printer/prompt", { text: "Look." });
    await until("the lines", async () => (await main.locator(".printed").innerText()) === "first\n50 %");
    check((await main.locator(".row.live").innerText()).includes("not durable yet"), "it passes for durable");
    await until("the end", async () => (await main.locator(".rows").innerText()).includes("Looked."));
    check(await main.locator(".printed").count() === 0, "the lines stay");
  });

  await test("an agent is found and created", async () => {
    await show(tab, "");
    await main.getByLabel("Find an agent").fill("repair");
    await until("one agent", async () => (await main.locator(".agents li.agent").count()) === 1);
    await main.getByLabel("Find an agent").fill("");
    await button("New agent").click();
    await main.getByLabel("Name", { exact: true }).fill("fresh");
    await main.getByLabel("What it is for").fill("Made in the browser");
    check((await main.locator(".agents form .command").innerText()).includes("holon agent create fresh --own-home --description 'Made in the browser'"), "the form does not show its command");
    await button("Create").click();
    await until("the agent", async () => (await send("GET", "/agents/fresh/status")).description === "Made in the browser");
    await until("its page", async () => tab.url().includes("agents/fresh"));
  });

  await test("a prompt is sent once, whatever the connection does", async () => {
    await show(tab, "agents/fresh");
    let lost = 0;
    expect(true);
    await tab.route("**/control/agents/fresh/prompt", async (/** @type {any} */ route) => {
      lost += 1;
      if (lost > 1) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await main.getByLabel("Write to fresh").fill("Only once, please.");
    await tab.keyboard.press("Enter");
    await until("the answer", async () => (await main.locator(".row.brief").count()) === 1);
    await until("the repeat", async () => lost === 2);
    await until("nothing on its way", async () => (await main.locator(".row.pending").count()) === 0);
    await tab.unroute("**/control/agents/fresh/prompt");
    expect(false);
    const { entries } = await send("GET", "/agents/fresh/transcript");
    check(entries.filter((/** @type {any} */ entry) => entry.text === "Only once, please.").length === 1, "the prompt was taken twice");
    check(await main.locator(".row.message").count() === 1, "the prompt is shown twice");
  });

  await test("images and skills go along with a prompt", async () => {
    const skill = join(mkdtempSync(join(tmpdir(), "holon-skill-")), "greeting");
    mkdirSync(skill);
    writeFileSync(join(skill, "SKILL.md"), "---\nname: greeting\ndescription: How to greet\n---\nSay hello.\n");
    await send("POST", "/control/agents/fresh/skills/install", { source: skill });
    await show(tab, "agents/fresh");
    await tab.reload();
    const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    await main.getByLabel("Add images").setInputFiles([{ name: "dot.png", mimeType: "image/png", buffer: dot }, { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("no image") }]);
    await noticed(/note\.txt is not added: it is no PNG/);
    await main.getByLabel("Add a skill").selectOption("greeting");
    check((await main.locator(".composer .command code").innerText()).includes("--image dot.png --skill greeting"), "the command does not name them");
    await main.getByLabel("Leave out the skill greeting").click();
    await main.getByLabel("Add a skill").selectOption("greeting");
    await main.getByLabel("Write to fresh").fill("What is on it?");
    await main.getByRole("button", { name: "Send", exact: true }).click();
    await until("the message", async () => {
      const { events } = await send("GET", "/agents/fresh/events?order=desc&limit=100");
      const message = events.find((/** @type {any} */ event) => event.type === "message_admitted")?.payload.message;
      return message?.images?.length === 1 && message.skills?.length === 1;
    });
    check(await main.locator(".along .tag").count() === 0, "what was sent stays in the composer");
    await until("nothing on its way", async () => (await main.locator(".row.pending").count()) === 0);
  });

  await test("the level of the conversation changes", async () => {
    const rows = () => main.locator(".rows [data-seq]").count();
    await button("Reports").click();
    const few = await rows();
    await button("Everything").click();
    check(await rows() > few, `${await rows()} rows of ${few}`);
    await button("Steps").click();
  });

  await test("why names facts, and each leads to its event", async () => {
    await show(tab, "agents/keyless/why");
    await until("the sentence", async () => /on hold/.test(await main.locator(".sentence").innerText()));
    await main.getByRole("link", { name: /^event \d+$/ }).first().click();
    await until("the event", async () => (await main.locator(".event.here").count()) === 1);
    check((await main.locator(".event.here pre").innerText()).includes('"event_seq"'), "the event is not open");
  });

  await test("work items are added and completed", async () => {
    await show(tab, "agents/fresh/work");
    await button("New work item").click();
    await main.getByLabel("Objective").fill("See the board");
    await main.getByLabel("Steps, one on each line").fill("first\nsecond");
    await button("Add").click();
    const item = main.getByRole("article", { name: "work_1" });
    await item.waitFor();
    check((await item.innerText()).includes("second"), "a step is missing");
    await confirm(item.getByRole("button", { name: "Complete", exact: true }), "Complete");
    await until("the end", async () => (await send("GET", "/agents/fresh/work-items/work_1")).work_item.state === "completed");
    await until("the column", async () => (await main.getByRole("region", { name: "Completed" }).innerText()).includes("See the board"));
  });

  await test("a task is run, followed, written to and stopped", async () => {
    await show(tab, "agents/fresh/tasks");
    await button("Run a command").click();
    await main.getByLabel("Command", { exact: true }).fill("while read line; do echo heard $line; done");
    await main.getByLabel("accepts input").check();
    await button("Run").click();
    await button("Output").first().click();
    await main.getByLabel("Write a line to its input").fill("hello task");
    await tab.keyboard.press("Enter");
    await until("the output", async () => (await main.locator("pre.output").innerText()).includes("heard hello task"));
    await confirm(main.locator(".list").getByRole("button", { name: "Stop", exact: true }).first(), "Stop");
    await until("the end", async () => (await send("GET", "/agents/fresh/tasks")).tasks[0].status === "cancelled");
    await until("it on the page", async () => (await main.innerText()).includes("cancelled"));
    let streams = 0;
    const count = (/** @type {any} */ request) => (streams += Number(/\/tasks\/.*stream/.test(new URL(request.url()).pathname)));
    tab.on("request", count);
    await button("Hide output").click();
    await button("Output").first().click();
    await until("the output again", async () => (await main.locator("pre.output").innerText()).includes("heard hello task"));
    await tab.waitForTimeout(2_000);
    tab.off("request", count);
    check(streams === 1, `the output of a task that has ended was asked for ${streams} times`);
  });

  await test("a task is killed, although it asks for time", async () => {
    await show(tab, "agents/spare/tasks");
    await button("Run a command").click();
    await main.getByLabel("Command", { exact: true }).fill("trap '' TERM INT HUP; echo deaf; while :; do sleep 0.1; done");
    await button("Run").click();
    await button("Output").first().click();
    await until("the output", async () => (await main.locator("pre.output").innerText()).includes("deaf"));
    await until("the count", async () => (await send("GET", "/control/runtime/status")).activity.active_task_count >= 1);
    await confirm(button("Kill").first(), "Kill");
    await until("the end", async () => (await send("GET", "/agents/spare/tasks")).tasks[0].status === "cancelled");
    await until("it on the page", async () => (await main.locator(".list > li").first().innerText()).includes("cancelled"));
  });

  await test("a child is stopped", async () => {
    await show(tab, "agents/tutor/children");
    const state = async () => (await send("GET", "/agents/tutor/tasks")).tasks[0]?.status;
    await until("the child", async () => (await state()) === "running");
    const stop = main.locator(".list").getByRole("button", { name: "Stop", exact: true });
    await confirm(stop.first(), "Stop");
    await until("its end", async () => (await state()) === "cancelled");
    await until("it on the page", async () => (await stop.count()) === 0);
  });

  await test("unused worktrees are removed", async () => {
    const trees = async () => (await send("GET", "/control/agents/branches/workspace")).worktrees ?? [];
    await show(tab, "agents/branches/workspaces");
    check((await trees())[0]?.state === "in_use", `the worktree is ${JSON.stringify(await trees())}`);
    await confirm(button("Remove unused"), "Remove unused");
    await noticed(/Remove unused/);
    check((await trees()).length === 1, "a worktree in use was removed");
    await button("Return here").click();
    await until("the home", async () => (await send("GET", "/control/agents/branches/workspace")).active_workspace_id === "agent_home");
    await confirm(button("Remove unused"), "Remove unused");
    await until("its end", async () => (await trees()).length === 0);
    await until("it on the page", async () => (await main.getByRole("region", { name: "Worktrees" }).innerText()).includes("None."));
  });

  await test("a timer is added and cancelled", async () => {
    await show(tab, "agents/fresh/timers");
    await button("New timer").click();
    await main.getByLabel("Fires after").fill("2h");
    await main.getByLabel("And then every").fill("1d");
    await main.getByLabel("Text that is delivered").fill("look again");
    await button("Add").click();
    await until("the timer", async () => (await send("GET", "/agents/fresh/timers")).timers[0]?.interval_ms === 86_400_000);
    await confirm(button("Cancel").first(), "Cancel");
    await until("the end", async () => (await send("GET", "/agents/fresh/timers")).timers[0].status === "cancelled");
  });

  await test("the trigger is shown, replaced and revoked", async () => {
    await show(tab, "agents/fresh/triggers");
    check(!(await main.innerText()).includes("/callbacks/"), "the address is shown unasked");
    await button("Show the address").click();
    check((await main.innerText()).includes("/callbacks/"), "the address is not shown");
    await confirm(button("Replace"), "Replace");
    await until("another", async () => (await send("GET", "/control/agents/fresh/triggers")).triggers[0].generation === 2);
    await confirm(button("Revoke"), "Revoke");
    await until("the end", async () => (await send("GET", "/control/agents/fresh/triggers")).triggers[0].status === "revoked");
  });

  await test("workspaces are attached, used, left and detached", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holon-workspace-"));
    const active = async () => (await send("GET", "/control/agents/fresh/workspace")).active_workspace_id;
    await show(tab, "agents/fresh/workspaces");
    await button("Another folder").click();
    await main.getByLabel("Folder").fill(folder);
    await main.getByLabel("What to do").selectOption("attachWorkspace");
    await button("Attach").click();
    await button("Use").first().click();
    await until("the other folder", async () => (await active()) !== "agent_home");
    await button("Return here").click();
    await until("the home", async () => (await active()) === "agent_home");
    await confirm(button("Detach"), "Detach");
    await until("the end", async () => (await send("GET", "/control/agents/fresh/workspace")).attached_workspaces.length === 0);
  });

  await test("an agent is renamed, described, woken and given a model", async () => {
    await show(tab, "agents/fresh");
    await button("More…").click();
    const dialog = tab.getByRole("dialog");
    const press = (/** @type {string} */ name) => dialog.getByRole("button", { name, exact: true }).click();
    const status = () => send("GET", "/agents/fresh/status");
    await dialog.getByLabel("Second name").fill("renamed");
    await press("Rename");
    await until("the name", async () => (await status()).name === "renamed");
    await dialog.getByLabel("What it is for").fill("Described again");
    await press("Describe");
    await until("the description", async () => (await status()).description === "Described again");
    await dialog.getByLabel("Model from the next turn on").fill("scripted/demo");
    await press("Set model");
    await until("the model", async () => (await status()).model.override_model === "scripted/demo");
    await press("Runtime's own model");
    await until("the own model", async () => !(await status()).model.override_model);
    await dialog.getByLabel("Reason of a wake hint").fill("have a look");
    await press("Wake");
    await until("the hint", async () => (await send("GET", "/agents/fresh/events?order=desc")).events.some((/** @type {any} */ event) => event.type === "wake_hint_recorded"));
    await confirm(dialog.getByRole("button", { name: "Compact", exact: true }), "Compact");
    await noticed(/episode is closed|Compact/);
    await press("Done");
  });

  await test("a prompt goes into the turn in progress", async () => {
    await show(tab, "agents/tutor");
    await main.getByLabel("into the turn in progress").check();
    const line = main.getByLabel("Write to tutor");
    await line.fill("And about this, too.");
    await line.press("Enter");
    await until("the message", async () => (await send("GET", "/agents/tutor/events?order=desc")).events.some((/** @type {any} */ event) => event.type === "message_admitted" && event.payload.message.priority === "interject"));
    await line.press("ArrowUp");
    check(await line.inputValue() === "And about this, too.", "the prompt is not called back");
    await line.fill("");
  });

  await test("a run is aborted, an agent stopped, started and archived", async () => {
    await show(tab, "agents/slow");
    await until("the run", async () => (await main.locator(".row.live").count()) === 1);
    await confirm(button("Abort run"), "Abort run");
    await until("the end of the run", async () => !(await send("GET", "/agents/slow/status")).run);
    const status = async () => (await send("GET", "/agents/slow/status")).status;
    await confirm(button("Stop"), "Stop");
    await until("the stop", async () => (await status()) === "stopped");
    await until("the composer to rest", async () => main.getByLabel("Write to slow").isDisabled());
    await button("Start").click();
    await until("the start", async () => (await status()) !== "stopped");
    await send("POST", "/control/agents/slow/prompt", { text: "Think again." });
    await show(tab, "agents/fresh");
    await button("More…").click();
    await confirm(tab.getByRole("dialog").getByRole("button", { name: "Archive", exact: true }), "Archive");
    await until("the archive", async () => (await send("GET", "/agents/fresh/status")).archived === true);
  });

  await test("the timeline shows events of a mark", async () => {
    await show(tab, "agents/repair/timeline");
    await main.locator(".span.turns").first().click();
    await until("its events", async () => (await main.innerText()).includes("turn_started"));
    await button("1 month").click();
    await main.locator(".span.turns").first().waitFor();
  });

  await test("time travel shows the state then, its difference, and forks", async () => {
    await show(tab, "agents/repair/past?seq=12");
    await until("the state", async () => (await main.innerText()).includes("awake running"));
    await main.getByRole("slider").focus();
    await tab.keyboard.press("ArrowRight");
    await until("the next event", async () => (await main.locator(".card .note").first().innerText()).startsWith("event 13 "));
    await until("the differences", async () => (await main.locator("table.diff tbody tr").count()) > 3);
    await button("Now").click();
    await button("1 events back").click();
    // The address follows when the slider rests: before, it still is that of event 12, and going there changes nothing.
    await until("its address", async () => !/seq=1[23]$/.test(tab.url()));
    await show(tab, "agents/repair/past?seq=12");
    await main.getByText("a copy of repair at event 12;").waitFor();
    await main.getByLabel("Name of the new agent").fill("forked");
    await button("Fork from here").click();
    await until("the fork", async () => (await send("GET", "/agents/forked/status")).identity.forked_from.event_seq <= 12);
    await until("its page", async () => tab.url().includes("agents/forked"));
  });

  await test("past and next requests are shown", async () => {
    await show(tab, "agents/repair/requests");
    await main.getByLabel("With this as the next prompt").fill("A prompt that is tried");
    await until("it among the parts", async () => (await main.locator(".blocks").last().textContent()).includes("A prompt that is tried"));
    const choice = main.getByLabel("Request", { exact: true });
    await until("past requests", async () => (await choice.locator("option").count()) > 3);
    await choice.selectOption({ index: 1 });
    await until("a past request", async () => /Request op_\d+/.test(await main.innerText()));
    check(/as in the request before/.test(await main.innerText()), "what is shared is not shown");
    check((await main.innerText()).includes("ViewImage"), "what was left out is not shown");
  });

  await test("the ledger is filtered, opened and added to", async () => {
    await show(tab, "ledger");
    await main.getByLabel("Filter by type, agent, or any text").fill("brief_created");
    await until("one kind", async () => {
      const types = await main.locator(".event .type").allInnerTexts();
      return types.length > 2 && types.every((/** @type {string} */ type) => type === "brief_created");
    });
    await main.locator(".event summary").first().click();
    await until("the payload", async () => (await main.locator(".event pre").first().innerText()).includes('"brief_created"'));
    const count = await main.locator(".event").count();
    await send("POST", "/control/agents/main/prompt?wait=turn", { text: "One more brief." });
    await until("a new one", async () => (await main.locator(".event").count()) > count);
  });

  await test("the ledger is verified and replayed on demand", async () => {
    await show(tab, "ledger");
    for (const [name, found] of [["Verify", "in order: "], ["Replay", "the same: "]]) {
      const group = main.getByRole("group", { name: name.toLowerCase(), exact: true });
      check((await group.locator(".command code").innerText()) === `holon ledger ${name.toLowerCase()}`, "its command is not named");
      await group.getByRole("button", { name, exact: true }).click();
      await until("its result", async () => (await group.innerText()).includes(found), 60_000);
      check((await group.innerText()).includes("passed"), await group.innerText());
    }
    const { checks } = await send("GET", "/control/ledger/checks?wait_ms=1000");
    check(checks.length === 2 && checks.every((/** @type {any} */ one) => one.state === "passed"), JSON.stringify(checks));
  });

  await test("spending names agents and models", async () => {
    await show(tab, "spending");
    const models = main.getByRole("group", { name: "By model", exact: true }).getByRole("rowheader");
    await until("models of all agents", async () => (await models.allInnerTexts()).filter((/** @type {string} */ one) => one.startsWith("scripted/")).length > 2);
    await main.getByLabel("Agent", { exact: true }).selectOption("main");
    await until("its model alone", async () => JSON.stringify(await models.allInnerTexts()) === '["scripted/hello"]');
    await until("its budgets", async () => (await main.innerText()).includes("Budgets of main"));
  });
}
