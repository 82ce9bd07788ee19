//! The host that serves a real runtime.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use holon_api::AuthMode;
use holon_supervise::confine::peer::Standing;
use serde_json::Value;
use tempfile::TempDir;
use turmoil::Sim;
use turmoil::net::{TcpListener, TcpStream};

use super::Timeline;
use crate::events::Hub;
use crate::home::Home;
use crate::http::tests::{Setup, Started, start};
use crate::http::{Listener, OtherEnd, Peer, router, serve};

pub(super) const NAME: &str = "server";
pub(super) const PORT: u16 = 7878;
pub(super) const TOKEN: &str = "a-control-token-of-tests";

/// A server, as its machine sees it.
#[derive(Clone)]
pub(super) struct Server {
    hub: Arc<Mutex<Option<Hub>>>,
    _folder: Rc<TempDir>,
}

pub(super) struct Port(pub(super) TcpListener);

impl Listener for Port {
    type Io = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, OtherEnd)> {
        let (stream, _) = self.0.accept().await?;
        Ok((stream, OtherEnd::known(Peer::Tcp(Standing::Remote))))
    }
}

impl Server {
    /// Serves on a host of its own, until it is asked to leave.
    pub(super) fn start(sim: &mut Sim<'_>, timeline: &Timeline, rounds: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        home.create().unwrap();
        let server = Self { hub: Arc::default(), _folder: Rc::new(folder) };
        let (hub, timeline, rounds) = (server.hub.clone(), timeline.clone(), rounds.clone());
        sim.host(NAME, move || {
            let setup = Setup {
                mode: AuthMode::Required,
                token: Some(TOKEN),
                rounds: rounds.clone(),
                ..Setup::default()
            };
            let (home, hub, timeline) = (home.clone(), hub.clone(), timeline.clone());
            async move {
                let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
                let address = SocketAddr::new(turmoil::lookup(NAME), PORT);
                let Started { app, ended } = start(&home, &setup, address).await;
                *hub.lock().unwrap() = Some(app.hub.clone());
                let (runtime, leave) = (app.runtime.clone(), app.shutdown.asked());
                serve(Port(listener), router(app), leave).await;
                timeline.record("nobody is served any more");
                runtime.leave().await;
                ended.await??;
                Ok(())
            }
        });
        server
    }

    /// Agents that are followed.
    pub(super) fn followed(&self) -> usize {
        self.hub.lock().unwrap().as_ref().map_or(0, Hub::followed)
    }
}

/// Connections that the server has; called within a simulation.
pub(super) fn connections() -> usize {
    turmoil::established_tcp_stream_count_on(NAME)
}
