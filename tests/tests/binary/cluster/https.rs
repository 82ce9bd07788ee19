//! Nodes whose advertised addresses begin with `https:`, as behind a proxy that others reach over a network that nobody trusts.

use end_to_end::daemon::Daemon;
use end_to_end::https::{Proxy, certificates};
use end_to_end::provider::{Provider, says};
use end_to_end::{Holon, wait_for};
use holon_ledger::postgres::testing::Database;

use super::not_tried;

#[test]
fn nodes_pass_requests_on_by_https_to_whom_they_trust() {
    let provider = Provider::answering(|_| says("Done."));
    let Some(database) = Database::new() else { return not_tried() };
    let place = Holon::new();
    std::fs::create_dir_all(place.home()).expect("a folder");
    let Some(authority) = certificates(&place.home()) else {
        println!("not tried: no openssl");
        return;
    };
    let authority = authority.display().to_string();
    let node = |trusts: bool| {
        let proxy = Proxy::start(&place.home());
        let holon = Holon::new().with("HOLON_STORE_URL", &database.url);
        let holon = holon.with("HOLON_STORE_AGENTS", &place.work().display().to_string());
        let holon = holon.with("HOLON_CALLBACK_BASE_URL", &proxy.url);
        let holon = if trusts { holon.with("SSL_CERT_FILE", &authority) } else { holon };
        (Daemon::asking(holon, &provider), proxy)
    };
    let start = |(daemon, proxy): &(Daemon, Proxy)| {
        daemon.start();
        let metadata = daemon.metadata().expect("it is ready");
        proxy.passes_on_to(metadata["http_addr"].as_str().expect("an address"));
    };
    let (owner, trusting, strange) = (node(true), node(true), node(false));
    owner.0.ok(&["cluster", "init", "--lease-ms", "1000", "--grace-ms", "200"]);
    start(&owner);
    let owned = || owner.0.ok(&["cluster", "cells", "--json"]).json()["cells"][0]["node"].is_u64();
    wait_for("an owner", owned);
    start(&trusting);
    start(&strange);
    let prompted = trusting.0.ok(&["prompt", "--wait", "hello"]);
    assert!(prompted.stdout.contains("Done."), "{prompted:?}");
    assert!(owner.1.taken() > 0, "it went by way of the proxy");
    // Whoever does not trust the certificate sends nothing.
    let taken = owner.1.taken();
    strange
        .0
        .0
        .run(&["prompt", "hello"])
        .refused(4, &["can't be reached", "https://localhost", "certificate"]);
    assert_eq!(owner.1.taken(), taken);
    for (daemon, _) in [strange, trusting, owner] {
        daemon.ok(&["daemon", "stop"]);
    }
}
