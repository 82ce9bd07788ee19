//! The web console (contract: consoles.md, Web console): the files of its page, and how a browser logs in. A link that was
//! made for an operator has a one-time token in its fragment; the page exchanges it for a session, whose secret is in a
//! cookie that no script can read. From then on the session is a caller like any other ([`admission`]).

mod admission;
mod cookie;
mod files;
mod lease;
mod links;
mod sessions;
mod store;

use std::sync::Arc;

use axum::http::header::USER_AGENT;
use holon_api::rows::{EndSession, ListSessions, LogIn, LogOut, MakeConsoleLink, ShowSession};
use holon_api::{Code, ConsoleLink, ConsoleSession, ConsoleSessions, EndedSession, LoggedIn, OpenSession};
use holon_facts::Millis;
use holon_platform::{clock, spawn};

use self::cookie::Cookie;
pub(super) use self::files::{page, without_slash};
pub(super) use self::lease::leased;
use self::links::Links;
pub(super) use self::sessions::Lease;
use self::sessions::{Session, Sessions};
use self::store::Store;
use super::App;
use super::failure::Failure;
use super::reply::WithCookie;
use super::route::{Call, Handled};
use crate::home::Home;

/// Links and sessions of a runtime. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Console(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    /// Whether there is a console at all (`web.console`).
    on: bool,
    links: Links,
    sessions: Sessions,
    store: Store,
    cookie: Cookie,
}

impl Console {
    /// The console of a home, with the sessions that were open when its last runtime ended.
    ///
    /// # Errors
    /// The kernel has no randomness.
    pub fn of(home: &Home, on: bool) -> std::io::Result<Self> {
        let store = Store::of(home);
        let (name, open) = store.read()?;
        let parts = Parts {
            on,
            links: Links::default(),
            sessions: Sessions::new(open, clock::now().wall),
            store,
            cookie: Cookie::new(name),
        };
        Ok(Self(Arc::new(parts)))
    }

    /// None: no browser can log in to whoever reads a home without a runtime.
    pub fn none(home: &Home) -> Self {
        let (links, store) = (Links::default(), Store::of(home));
        let sessions = Sessions::new(Vec::new(), clock::now().wall);
        Self(Arc::new(Parts { on: false, links, sessions, store, cookie: Cookie::new(String::new()) }))
    }

    /// # Errors
    /// There is none.
    fn check_on(&self) -> Handled<()> {
        if self.0.on {
            return Ok(());
        }
        let text = "the web console is switched off in the configuration of this runtime";
        let hint = "`holon config set web.console true`, then `holon daemon restart`";
        Err(Failure::new(Code::NoConsole, text).hint(hint))
    }

    /// Stores the sessions as they are now, in a thread that may wait for the disk.
    fn store_later(&self) {
        let console = self.clone();
        drop(spawn::blocking(move || {
            if let Err(error) = console.save() {
                tracing::warn!("sessions of the web console can't be stored: {error}");
            }
        }));
    }

    fn save(&self) -> std::io::Result<()> {
        self.0.store.write(self.0.cookie.name(), || self.0.sessions.open(clock::now().wall))
    }
}

/// `POST /control/console/link`
pub(super) async fn create_link(app: App, _: Call<MakeConsoleLink>) -> Handled<ConsoleLink> {
    app.console.check_on()?;
    let listen = app.about.listen.as_ref().map(|listen| format!("http://{listen}"));
    let base = app.about.advertise_url.clone().or(listen).ok_or_else(|| {
        Failure::new(Code::NoConsole, "this runtime has no address on TCP that a browser could open")
            .hint("`holon daemon start` starts one that has")
    })?;
    let expires_at = clock::now().wall.after(Millis::seconds(links::LIFETIME.as_secs()));
    let token = app.console.0.links.make().map_err(Failure::internal)?;
    let url = format!("{}/console/#login={token}", base.trim_end_matches('/'));
    Ok(ConsoleLink { ok: true, url, expires_at })
}

/// `POST /console/login`
pub(super) async fn log_in(app: App, call: Call<LogIn>) -> Handled<WithCookie<LoggedIn>> {
    app.console.check_on()?;
    if !app.console.0.links.take(&call.body.0.token) {
        let text = "the link was used before, or is older than a minute";
        return Err(Failure::new(Code::WrongToken, text).hint("`holon console` makes another one"));
    }
    let headers = &call.from.headers;
    let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    let now = clock::now().wall;
    let begun = app.console.0.sessions.begin(user_agent, now).map_err(Failure::internal)?;
    let (secret, session) = begun;
    // A disk that is full locks nobody out: the session lasts as long as this runtime.
    let saved = app.blocking(|app| Ok(app.console.save())).await?;
    if let Err(error) = saved {
        tracing::warn!("a session of the web console can't be stored, and ends with this runtime: {error}");
    }
    let cookie = app.console.0.cookie.set(&secret, admission::is_secure(headers));
    let csrf = cookie::csrf(&secret);
    let (session_id, expires_at) = (session.session_id.clone(), session.expires_at());
    Ok(WithCookie { reply: LoggedIn { ok: true, session_id, expires_at, csrf }, cookie: Some(cookie) })
}

/// `GET /console/session`
pub(super) async fn session(app: App, call: Call<ShowSession>) -> Handled<ConsoleSession> {
    app.console.check_on()?;
    let own = app.console.own(&call.from.headers);
    Ok(ConsoleSession {
        ok: true,
        session_id: own.as_ref().map(|(_, session)| session.session_id.clone()),
        expires_at: own.as_ref().map(|(_, session)| session.expires_at()),
        csrf: own.map(|(secret, _)| cookie::csrf(&secret)),
        home_dir: app.about.home.root().display().to_string(),
    })
}

/// `POST /console/logout`
pub(super) async fn log_out(app: App, call: Call<LogOut>) -> Handled<WithCookie<EndedSession>> {
    let Some((_, own)) = app.console.own(&call.from.headers) else {
        return Ok(WithCookie { reply: EndedSession { ok: true, session_id: None }, cookie: None });
    };
    let reply = end(&app, own.session_id).await?;
    Ok(WithCookie { reply, cookie: Some(app.console.0.cookie.remove()) })
}

/// `GET /console/sessions`
pub(super) async fn sessions(app: App, call: Call<ListSessions>) -> Handled<ConsoleSessions> {
    let own = app.console.own(&call.from.headers).map(|(_, session)| session.session_id);
    let mut open = app.console.0.sessions.open(clock::now().wall);
    open.sort_by_key(|session| std::cmp::Reverse(session.created_at));
    let shown = |session: Session| OpenSession {
        current: own.as_ref() == Some(&session.session_id),
        expires_at: session.expires_at(),
        session_id: session.session_id,
        created_at: session.created_at,
        last_seen_at: session.last_seen_at,
        user_agent: session.user_agent,
    };
    Ok(ConsoleSessions { ok: true, sessions: open.into_iter().map(shown).collect() })
}

/// `DELETE /console/sessions/{session_id}`
pub(super) async fn end_session(app: App, call: Call<EndSession>) -> Handled<EndedSession> {
    end(&app, call.path.session_id).await
}

/// Ends a session, also for the next runtime: an end that is not stored is none.
async fn end(app: &App, session_id: String) -> Handled<EndedSession> {
    app.blocking(move |app| {
        if !app.console.0.sessions.end(&session_id) {
            let text = format!("no session {session_id:?} is open");
            return Err(Failure::new(Code::UnknownSession, text).hint("`holon console sessions` lists them"));
        }
        app.console.save().map_err(|error| {
            let text = format!("the session has ended, but would be open again after a restart: {error}");
            Failure::new(Code::Internal, text)
        })?;
        Ok(EndedSession { ok: true, session_id: Some(session_id) })
    })
    .await
}
