//! What is found: golden queries in many kinds of writing, a set of a hundred, and who sees what.

use std::fs;

use holon_facts::Wall;
use holon_facts::workspace::WorkspaceId;
use holon_memory::{Document, Match, Workspaces};

use super::common::{NOW, Scene, agent, document, ids};

#[test]
fn golden_queries_find_what_they_are_about() {
    let texts = [
        "线上订单服务内存溢出，需要限制缓存大小 ERR_MEM_0815",
        "データベース接続を再試行する回数は五回です",
        "비밀번호 정책을강화하는절차",
        "call `load_user_profile` in src/api/users.rs since v1.7.2, façade Émile",
        "第3步 执行sync-all后20个文件已更新",
        "the quick filler about gardens and bread",
        "回滚",
        "ｈａｌｆ　ＸＹＺ　データ",
    ];
    let scene = Scene::with(&texts);
    let golden: &[(usize, &[&str])] = &[
        (1, &["溢出", "溢", "限制缓存", "内存 缓存", "ERR_MEM_0815", "0815"]),
        (2, &["接続 データベース", "データベース", "再試行", "五回"]),
        (3, &["정책을", "강화", "비밀번호"]),
        (4, &["users.rs", "api/users.rs", "emile", "v1.7.2", "user_profile"]),
        (5, &["sync", "sync-all"]),
        (6, &["garden"]),
        (7, &["回滚"]),
        (8, &["XYZ"]),
    ];
    assert_eq!(golden.iter().map(|(_, queries)| queries.len()).sum::<usize>(), 23);
    for (id, queries) in golden {
        for query in *queries {
            assert_eq!(scene.ids(query).first(), Some(id), "{query}");
        }
    }
}

#[test]
fn the_queries_of_appendix_a() {
    let texts = [
        "生产环境的数据库连接超时，需要调整重试策略 ERR_CONN_4711",
        "タイムアウト設定を三十秒に変更しました",
        "검색 색인을재구축하는방법",
        "fix `run_build_deploy` in src/core/host.rs after v0.14.1 naïve Café",
        "步2 重跑gen-itgc后50条悬空引用清零",
        "nothing to see here, unrelated filler about servers",
        "部署",
        "ｆｕｌｌｗｉｄｔｈ ＡＢＣ テスト",
    ];
    let scene = Scene::with(&texts);
    let wanted: &[(usize, &[&str])] = &[
        (1, &["超时", "超", "重试策略", "连接 超时", "ERR_CONN_4711", "4711"]),
        (2, &["设定 タイムアウト", "設定 タイムアウト", "タイムアウト", "三十秒"]),
        (3, &["색인을", "재구축"]),
        (4, &["host.rs", "core/host.rs", "cafe", "v0.14.1", "build_deploy"]),
        (5, &["itgc", "gen-itgc", "悬空"]),
        (6, &["server"]),
        (7, &["部署"]),
        (8, &["ABC", "テスト"]),
    ];
    for (id, queries) in wanted {
        for query in *queries {
            assert_eq!(scene.ids(query).first(), Some(id), "{query}");
        }
    }
    for nothing in ["\"quoted\" AND (", "*", "\"", "()", "!!!"] {
        assert_eq!(scene.ids(nothing), [0; 0], "{nothing}");
    }
}

#[test]
fn of_a_hundred_queries_nearly_all_have_their_document_among_the_first_five() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/memory/recall.txt");
    let written = fs::read_to_string(path).expect("the fixture");
    let (mut texts, mut queries) = (Vec::new(), Vec::new());
    for line in written.lines() {
        if let Some(text) = line.strip_prefix("= ") {
            texts.push(text.to_owned());
        } else if let Some(query) = line.strip_prefix("? ") {
            queries.push((texts.len(), query));
        }
    }
    assert_eq!(queries.len(), 100);
    // What else an agent has: the same words in other company, but for those that somebody looks for alone.
    let alone: Vec<String> = queries
        .iter()
        .filter(|(_, query)| !query.contains(' '))
        .map(|(_, query)| query.to_lowercase())
        .collect();
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || !c.is_ascii());
    let words: Vec<String> = texts
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter(plain)
        .flat_map(|word| {
            word.chars()
                .collect::<Vec<_>>()
                .chunks(5)
                .map(|piece| piece.iter().collect())
                .collect::<Vec<String>>()
        })
        .filter(|word| {
            !alone.iter().any(|alone| word.contains(alone.as_str()) || alone.contains(word.as_str()))
        })
        .collect();
    for number in 0..2_000 {
        let start = number * 7_919;
        let word = |at: usize| words[(start + at * 131 * (number + 1)) % words.len()].as_str();
        texts.push((0..12).map(word).collect::<Vec<_>>().join(" "));
    }
    let scene = Scene::with(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let missed: Vec<_> = queries
        .iter()
        .filter(|(id, query)| !scene.ids(query).iter().take(5).any(|found| found == id))
        .collect();
    println!("recall@5 = {}, missed: {missed:?}", 1.0 - missed.len() as f64 / 100.0);
    assert!(missed.len() <= 5, "{missed:?}");
}

#[test]
fn an_agent_sees_its_own_and_the_active_workspace() {
    let mut scene = Scene::new();
    let texts: Vec<(Document, &str)> = vec![
        (document("main", 1, None), "deploy the shop everywhere"),
        (document("main", 2, Some("shop")), "deploy the shop from the shop"),
        (document("main", 3, Some("blog")), "deploy the shop from the blog"),
        (document("other", 4, None), "deploy the shop of another"),
        (document("other", 5, Some("shop")), "deploy the shop of another in the shop"),
    ];
    scene.put(&texts);
    let shop = WorkspaceId::named("shop");
    let nowhere = WorkspaceId::named("nowhere");
    let sorted = |workspaces| {
        let mut found = ids(&scene.find("main", "deploy shop", workspaces, 50));
        found.sort_unstable();
        found
    };
    assert_eq!(sorted(Workspaces::Only(&shop)), [1, 2]);
    assert_eq!(sorted(Workspaces::Only(&nowhere)), [1]);
    assert_eq!(sorted(Workspaces::All), [1, 2, 3]);
    // Words of the scope are nobody's words.
    for scope in ["a1", "w0", "scope:a2", "\u{f8ff}a1", "\u{f8ff}w0"] {
        assert_eq!(scene.ids(scope), [0; 0], "{scope}");
    }
    let given = scene.find("main", "deploy", Workspaces::All, 50).hits;
    for hit in given {
        let of = |name: &str| scene.index.get(&agent(name), hit.entry.source_ref).expect("a read");
        assert_eq!(of("main").expect("its own"), hit.entry);
        assert_eq!(of("other"), None, "a reference is its agent's");
    }
}

#[test]
fn some_words_are_enough_where_few_have_all() {
    let scene = Scene::with(&["red apple", "red pear", "green pear", "blue"]);
    let found = scene.find("main", "red apple plum", Workspaces::All, 10);
    assert_eq!((ids(&found), found.matched), (vec![1, 2], Match::Any));
    let found = scene.find("main", "red apple", Workspaces::All, 10);
    assert_eq!((ids(&found), found.matched), (vec![1, 2], Match::Any), "the one that has all comes first");
    let found = scene.find("main", "red", Workspaces::All, 10);
    assert_eq!((found.hits.len(), found.matched), (2, Match::All));
    let unspaced = Scene::with(&["支付服务在高峰期超时", "别的"]);
    let found = unspaced.find("main", "支付服务超时", Workspaces::All, 10);
    assert_eq!((ids(&found), found.matched), (vec![1], Match::Any), "parts of what is written as one");
    assert_eq!(scene.find("main", "red apple", Workspaces::All, 1).hits.len(), 1);
    assert!(scene.find("nobody", "red", Workspaces::All, 10).hits.is_empty());
}

#[test]
fn titles_count_more_and_what_is_new_counts_up_to_twice() {
    let mut scene = Scene::new();
    let old = Wall(NOW.0 - 400 * 86_400 * 1_000_000);
    let titled = Document { title: "about otters".into(), ..document("main", 1, None) };
    let texts = vec![
        (titled, "a text of some length on rivers"),
        (document("main", 2, None), "a text of some length on otters"),
        (Document { updated_at: old, ..document("main", 3, None) }, "a walrus and nothing more"),
        (document("main", 4, None), "a walrus and nothing less"),
    ];
    scene.put(&texts);
    assert_eq!(scene.ids("otter"), [1, 2]);
    let found = scene.find("main", "walrus", Workspaces::All, 10);
    assert_eq!(ids(&found), [4, 3]);
    let ratio = found.hits[0].score / found.hits[1].score;
    assert!(ratio > 1.9 && ratio <= 2.0, "{ratio}");
}
