//! Who may ask (contract: surface.md, HTTP; decisions.md, 18, 19 and 27). A caller is known by the control token, by
//! having opened the home's socket, or by the kernel's word that it is a process of the runtime's own user.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use holon_api::{AuthMode, Code};
use holon_facts::ContentId;
use holon_facts::provenance::AdmissionContext;
use holon_supervise::confine::peer::{Care, Standing};
use subtle::ConstantTimeEq;

use super::failure::Failure;
use super::peer::Peer;

/// Which callers need the control token.
#[derive(Debug, Clone)]
pub struct Policy {
    mode: AuthMode,
    /// Hash of the token: comparing hashes says nothing of its length.
    token: Option<ContentId>,
    /// Hash of what nodes of a cluster show each other.
    nodes: Option<ContentId>,
    /// Whether the token was chosen by an operator: then everybody on TCP shows it.
    on_tcp: bool,
    /// Whether commands are confined and can connect all the same: they are no operators.
    among_commands: bool,
}

/// A policy that would let strangers in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("a control token is required on {0}, which is not a loopback address, and none is configured")]
    NeedsToken(SocketAddr),
    #[error("authentication is required everywhere, and no control token is configured")]
    NoToken,
    #[error("authentication is disabled, so only a loopback address may be served, not {0}")]
    NotLoopback(SocketAddr),
}

/// What is known of whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// Has the control token.
    Token,
    /// Is a browser with a session of the web console.
    Session,
    /// May open the home's socket.
    Socket,
    /// A process of the runtime's own user, as the kernel says.
    Owner,
    /// Is on this machine; nobody asked for more.
    Loopback,
}

impl Policy {
    /// `listen` is the address on TCP, where there is one.
    ///
    /// # Errors
    /// When strangers could get in.
    pub fn new(mode: AuthMode, token: Option<&str>, listen: Option<SocketAddr>) -> Result<Self, PolicyError> {
        let strangers = listen.filter(|address| !address.ip().is_loopback());
        match (mode, token, strangers) {
            (AuthMode::Auto, None, Some(address)) => return Err(PolicyError::NeedsToken(address)),
            (AuthMode::Required, None, _) => return Err(PolicyError::NoToken),
            (AuthMode::Disabled, _, Some(address)) => return Err(PolicyError::NotLoopback(address)),
            (AuthMode::Auto | AuthMode::Required | AuthMode::Disabled, _, _) => {}
        }
        let on_tcp = mode != AuthMode::Disabled && token.is_some();
        let token = token.map(|token| holon_text::hash(token.as_bytes()));
        Ok(Self { mode, token, nodes: None, on_tcp, among_commands: false })
    }

    /// The same with the token that the home has of its own: it is asked of those alone of whom nothing else is known.
    #[must_use]
    pub fn with_own(self, token: &str) -> Self {
        Self { token: self.token.or_else(|| Some(holon_text::hash(token.as_bytes()))), ..self }
    }

    /// The same for a node: requests that others have let in come with this secret.
    #[must_use]
    pub fn with_nodes(self, secret: &str) -> Self {
        Self { nodes: Some(holon_text::hash(secret.as_bytes())), ..self }
    }

    /// The same where confined commands can connect: they are refused, and whoever else comes over TCP needs the token.
    #[must_use]
    pub fn among_commands(self, there: bool) -> Self {
        Self { among_commands: there, ..self }
    }

    /// The socket alone, which trusts its file mode.
    pub fn socket() -> Self {
        Self { mode: AuthMode::Auto, token: None, nodes: None, on_tcp: false, among_commands: false }
    }

    pub(super) fn mode(&self) -> AuthMode {
        self.mode
    }

    /// How closely the kernel is asked who is at the other end, for a request with these headers; none: not at all,
    /// since whether there is a token decides, or which one.
    pub(super) fn care(&self, headers: &HeaderMap) -> Option<Care> {
        if self.among_commands {
            return Some(Care::Every);
        }
        let known = self.token.is_some() || self.nodes.is_some();
        if self.on_tcp || known && headers.contains_key(AUTHORIZATION) {
            return None;
        }
        match self.mode {
            AuthMode::Disabled => Some(Care::Machine),
            AuthMode::Auto | AuthMode::Required => Some(Care::First),
        }
    }

    /// The same where something else than the other end decides: only a command would not be let in all the same.
    pub(super) fn care_of_commands(&self) -> Option<Care> {
        self.among_commands.then_some(Care::Every)
    }

    /// Whether a caller at that end needs the token.
    pub(super) fn requires(&self, peer: Peer) -> bool {
        match (peer, self.mode) {
            (Peer::Socket | Peer::Confined, mode) => mode == AuthMode::Required,
            (Peer::Tcp(_), _) if self.on_tcp || self.among_commands => true,
            // Whoever comes from elsewhere got here through an address that should not have been served.
            (Peer::Tcp(standing), AuthMode::Disabled) => standing == Standing::Remote,
            (Peer::Tcp(standing), AuthMode::Auto | AuthMode::Required) => standing != Standing::Owner,
        }
    }

    /// Who needs no control token, because something else lets everybody in: a token that was made for streams, a session.
    ///
    /// # Errors
    /// A confined command, whatever token it may have found.
    pub(super) fn admit_known(&self, peer: Peer) -> Result<(), Box<Failure>> {
        if self.among_commands { refuse_commands(peer) } else { Ok(()) }
    }

    /// Who logs in with a link. Programs of a user can read the arguments of those of another one, and a browser is opened
    /// with the link as its argument.
    ///
    /// # Errors
    /// A confined command; and where no token was chosen, another user.
    pub(super) fn admit_link(&self, peer: Peer) -> Result<(), Box<Failure>> {
        self.admit_known(peer)?;
        if !self.on_tcp && self.requires(peer) && matches!(peer, Peer::Tcp(Standing::Other)) {
            let text = "a link logs in the owner of the home alone, not other users and containers";
            return Err(Failure::new(Code::WrongToken, text).hint(HINT));
        }
        Ok(())
    }

    /// Who asks.
    ///
    /// # Errors
    /// When a token is missing or wrong, or a page of another site asks, or a confined command.
    pub(super) fn admit(&self, peer: Peer, headers: &HeaderMap) -> Result<Caller, Box<Failure>> {
        if self.among_commands {
            // Whatever token it may have found.
            refuse_commands(peer)?;
        }
        let given = bearer(headers)?.map(|given| holon_text::hash(given.as_bytes()));
        let is = |token: &Option<ContentId>| {
            let pair = given.as_ref().zip(token.as_ref());
            pair.map(|(given, token)| bool::from(given.0.ct_eq(&token.0)))
        };
        if is(&self.nodes) == Some(true) {
            return Ok(Caller::Token);
        }
        if let Some(right) = is(&self.token) {
            if right {
                return Ok(Caller::Token);
            }
            return Err(Failure::new(Code::WrongToken, "the control token is wrong").hint(HINT));
        }
        if self.requires(peer) {
            let hint = if self.token.is_none() { NO_TOKEN } else { HINT };
            let text = match peer {
                Peer::Tcp(Standing::Other) => {
                    "a control token is required here of other users and containers"
                }
                Peer::Tcp(Standing::Hidden) => {
                    "a control token is required here of clients that the kernel can't identify"
                }
                Peer::Tcp(Standing::Owner | Standing::Confined | Standing::Remote | Standing::Unasked)
                | Peer::Socket
                | Peer::Confined => "a control token is required here",
            };
            return Err(Failure::new(Code::MissingToken, text).hint(hint));
        }
        match peer {
            Peer::Socket | Peer::Confined => Ok(Caller::Socket),
            Peer::Tcp(Standing::Owner) if self.mode != AuthMode::Disabled => {
                same_machine(headers).map(|()| Caller::Owner)
            }
            Peer::Tcp(_) => same_machine(headers).map(|()| Caller::Loopback),
        }
    }
}

/// A confined command, and whoever could be one that hides.
fn refuse_commands(peer: Peer) -> Result<(), Box<Failure>> {
    let text = match peer {
        Peer::Confined | Peer::Tcp(Standing::Confined) => {
            "a confined command can't use the runtime: it would do what the command can't"
        }
        Peer::Tcp(Standing::Hidden | Standing::Unasked) => {
            "the kernel does not identify the client, so it may be a confined command, which can't use the runtime"
        }
        Peer::Socket | Peer::Tcp(Standing::Owner | Standing::Other | Standing::Remote) => return Ok(()),
    };
    let hint = "connect from a terminal of your own that is not confined, through the home's socket";
    Err(Failure::new(Code::ConfinedCaller, text).hint(hint))
}

const NO_TOKEN: &str = "none is configured: connect through the home's socket, or start the runtime with one \
     (HOLON_CONTROL_TOKEN)";
const HINT: &str = "send it as `Authorization: Bearer …`; for the owner of the home, `holon daemon status` shows where it is";

impl Caller {
    /// What the ingress had proven.
    pub(super) fn admission(self) -> AdmissionContext {
        match self {
            Self::Token | Self::Session => AdmissionContext::ControlAuthenticated,
            Self::Socket | Self::Owner => AdmissionContext::LocalProcess,
            Self::Loopback => AdmissionContext::PublicUnauthenticated,
        }
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Box<Failure>> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    match token {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
            Ok(Some(token.trim()))
        }
        Some(_) | None => {
            Err(Failure::new(Code::WrongToken, "the header Authorization is no bearer token").hint(HINT))
        }
    }
}

/// A browser lets any page send requests to this machine: without a token, nothing but where the page comes
/// from tells its requests from those of a program. A page of another port is another program's.
fn same_machine(headers: &HeaderMap) -> Result<(), Box<Failure>> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let (host, origin) = (text(HOST), text(ORIGIN));
    let refused = |what: String| {
        let hint = "configure a control token and send it";
        Err(Failure::new(Code::ForbiddenOrigin, what).hint(hint))
    };
    if let Some(host) = host.filter(|host| !is_loopback(host)) {
        return refused(format!("without a control token only this machine is answered, not {host:?}"));
    }
    match origin {
        None => Ok(()),
        Some(origin) if host.is_some_and(|host| is_own_page(origin, host)) => Ok(()),
        Some(origin) => {
            let what = "without a control token only pages of this runtime's own address are answered";
            refused(format!("{what}, not of {origin:?}"))
        }
    }
}

/// Whether the page of an origin was got from the very address that is asked: name and port.
fn is_own_page(origin: &str, host: &str) -> bool {
    let Some((scheme, place)) = origin.split_once("://") else { return false };
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    match (named(place, usual), named(host, 80)) {
        (Some(page), Some(asked)) => is_loopback(place) && page == asked,
        (None, _) | (_, None) => false,
    }
}

/// A name in small letters, and its port.
pub(super) fn named(place: &str, usual: u16) -> Option<(String, u16)> {
    let (name, port) = match place.rsplit_once(':') {
        // The colons of an address of the sixth version stand in brackets.
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()?),
        Some(_) | None => (place, usual),
    };
    Some((name.to_ascii_lowercase(), port))
}

/// Whether a host, with or without its port, names this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const LOCAL: &str = "127.0.0.1:7878";
    const LAN: &str = "192.168.1.7:7878";

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn code(policy: &Policy, peer: Peer, headers: &[(&'static str, &str)]) -> Result<Caller, Code> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        policy.admit(peer, &map).map_err(|failure| failure.code())
    }

    #[test]
    fn no_policy_lets_strangers_in() {
        let new = |mode, token, listen: Option<&str>| Policy::new(mode, token, listen.map(address)).err();
        assert_eq!(new(AuthMode::Auto, None, Some(LAN)), Some(PolicyError::NeedsToken(address(LAN))));
        assert_eq!(new(AuthMode::Required, None, None), Some(PolicyError::NoToken));
        let disabled = new(AuthMode::Disabled, Some("token-token"), Some(LAN));
        assert_eq!(disabled, Some(PolicyError::NotLoopback(address(LAN))));
        assert_eq!(new(AuthMode::Auto, None, Some(LOCAL)), None);
    }

    #[test]
    fn who_needs_the_token() {
        let (local, socket) = (Peer::Tcp(Standing::Owner), Peer::Socket);
        let right = [("authorization", "Bearer token-token")];
        let wrong = [("authorization", "bearer token-tokem")];
        let auto = Policy::new(AuthMode::Auto, Some("token-token"), Some(address(LOCAL))).unwrap();
        assert_eq!(code(&auto, local, &right), Ok(Caller::Token));
        assert_eq!(code(&auto, local, &wrong), Err(Code::WrongToken));
        assert_eq!(code(&auto, local, &[("authorization", "Basic eDp5")]), Err(Code::WrongToken));
        assert_eq!(code(&auto, local, &[]), Err(Code::MissingToken));
        assert_eq!(code(&auto, socket, &[]), Ok(Caller::Socket));
        assert_eq!(code(&auto, socket, &wrong), Err(Code::WrongToken));
        let required = Policy::new(AuthMode::Required, Some("token-token"), None).unwrap();
        assert_eq!(code(&required, socket, &[]), Err(Code::MissingToken));
        assert_eq!(code(&required, socket, &right), Ok(Caller::Token));
        let disabled = Policy::new(AuthMode::Disabled, Some("token-token"), None).unwrap();
        assert_eq!(code(&disabled, local, &[]), Ok(Caller::Loopback));
        let none = Policy::new(AuthMode::Auto, None, Some(address(LOCAL))).unwrap();
        assert_eq!(code(&none, Peer::Tcp(Standing::Remote), &[]), Err(Code::MissingToken));
        assert_eq!(code(&disabled, Peer::Tcp(Standing::Remote), &[]), Err(Code::MissingToken));
    }

    #[test]
    fn without_a_chosen_token_the_kernel_says_who_is_the_owner() {
        let own = Policy::new(AuthMode::Auto, None, Some(address(LOCAL))).unwrap().with_own("token-token");
        let right = [("authorization", "Bearer token-token")];
        assert_eq!(code(&own, Peer::Tcp(Standing::Owner), &[]), Ok(Caller::Owner));
        assert_eq!(Caller::Owner.admission(), AdmissionContext::LocalProcess);
        for standing in [Standing::Other, Standing::Hidden, Standing::Confined, Standing::Remote] {
            assert_eq!(code(&own, Peer::Tcp(standing), &[]), Err(Code::MissingToken), "{standing:?}");
            assert_eq!(code(&own, Peer::Tcp(standing), &right), Ok(Caller::Token), "{standing:?}");
        }
        let disabled = Policy::new(AuthMode::Disabled, None, Some(address(LOCAL))).unwrap();
        assert_eq!(code(&disabled, Peer::Tcp(Standing::Other), &[]), Ok(Caller::Loopback));
        let chosen = Policy::new(AuthMode::Auto, Some("another-token"), Some(address(LOCAL))).unwrap();
        let chosen = chosen.with_own("token-token");
        assert_eq!(code(&chosen, Peer::Tcp(Standing::Other), &right), Err(Code::WrongToken));
    }

    #[test]
    fn a_link_is_for_the_owner_unless_others_have_a_token() {
        let link = |policy: &Policy, peer| policy.admit_link(peer).map_err(|failure| failure.code());
        let others = [Standing::Owner, Standing::Hidden, Standing::Remote, Standing::Unasked];
        let own = Policy::new(AuthMode::Auto, None, Some(address(LOCAL))).unwrap().with_own("token-token");
        let chosen = Policy::new(AuthMode::Auto, Some("token-token"), Some(address(LOCAL))).unwrap();
        let open = Policy::new(AuthMode::Disabled, None, Some(address(LOCAL))).unwrap();
        assert_eq!(link(&own, Peer::Tcp(Standing::Other)), Err(Code::WrongToken));
        for policy in [&chosen, &open] {
            assert_eq!(link(policy, Peer::Tcp(Standing::Other)), Ok(()));
        }
        for policy in [own, chosen, open] {
            assert!(others.into_iter().all(|who| link(&policy, Peer::Tcp(who)) == Ok(())));
            assert_eq!(link(&policy, Peer::Socket), Ok(()));
            let among = policy.among_commands(true);
            for peer in [Peer::Confined, Peer::Tcp(Standing::Confined), Peer::Tcp(Standing::Hidden)] {
                assert_eq!(link(&among, peer), Err(Code::ConfinedCaller));
                assert!(among.admit_known(peer).is_err());
            }
            assert_eq!(link(&among, Peer::Tcp(Standing::Owner)), Ok(()));
        }
    }

    #[test]
    fn a_confined_command_is_no_operator() {
        let (local, right) = (Peer::Tcp(Standing::Owner), [("authorization", "Bearer token-token")]);
        for mode in [AuthMode::Auto, AuthMode::Disabled] {
            let policy = Policy::new(mode, Some("token-token"), Some(address(LOCAL))).unwrap();
            assert_eq!(code(&policy, Peer::Confined, &[]), Ok(Caller::Socket), "nobody is confined here");
            let policy = policy.among_commands(true);
            assert_eq!(code(&policy, Peer::Confined, &[]), Err(Code::ConfinedCaller));
            assert_eq!(code(&policy, Peer::Confined, &right), Err(Code::ConfinedCaller));
            assert_eq!(code(&policy, Peer::Socket, &[]), Ok(Caller::Socket));
            assert_eq!(code(&policy, local, &[]), Err(Code::MissingToken));
            assert_eq!(code(&policy, local, &right), Ok(Caller::Token));
            assert_eq!(code(&policy, Peer::Tcp(Standing::Other), &right), Ok(Caller::Token));
            for standing in [Standing::Confined, Standing::Hidden] {
                assert_eq!(code(&policy, Peer::Tcp(standing), &right), Err(Code::ConfinedCaller));
            }
        }
        let without = Policy::new(AuthMode::Auto, None, Some(address(LOCAL))).unwrap().among_commands(true);
        assert_eq!(code(&without, local, &[]), Err(Code::MissingToken));
        assert_eq!(code(&without, Peer::Socket, &[]), Ok(Caller::Socket));
    }

    /// Where the kernel is not asked, nothing that it could say would let anybody in or keep anybody out.
    #[test]
    fn the_kernel_is_asked_only_where_its_answer_decides() {
        let policy = |mode, token| Policy::new(mode, token, Some(address(LOCAL))).unwrap();
        let own = policy(AuthMode::Auto, None).with_own("token-token");
        let (none, right, wrong) =
            (&[][..], &[("authorization", "Bearer token-token")][..], &[("authorization", "Bearer no")][..]);
        let chosen = policy(AuthMode::Auto, Some("token-token"));
        let disabled = policy(AuthMode::Disabled, None);
        for (policy, headers, care) in [
            (&own, none, Some(Care::First)),
            (&own, right, None),
            (&own, wrong, None),
            (&chosen, none, None),
            (&chosen, right, None),
            (&policy(AuthMode::Auto, None), right, Some(Care::First)),
            (&disabled, none, Some(Care::Machine)),
            (&policy(AuthMode::Disabled, None).with_own("token-token"), right, None),
            (&own.clone().among_commands(true), right, Some(Care::Every)),
            (&chosen.clone().among_commands(true), none, Some(Care::Every)),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(policy.care(&map), care, "{policy:?} {headers:?}");
            let of = |standing| code(policy, Peer::Tcp(standing), headers);
            let unasked = of(Standing::Unasked);
            let here = [Standing::Owner, Standing::Confined, Standing::Hidden, Standing::Other];
            match care {
                None => assert!(here.into_iter().chain([Standing::Remote]).all(|who| of(who) == unasked)),
                Some(Care::Machine) => assert!(here.into_iter().all(|who| of(who) == unasked)),
                Some(Care::First) => assert_eq!(unasked, Err(Code::MissingToken)),
                Some(Care::Every) => assert_eq!(unasked, Err(Code::ConfinedCaller)),
            }
        }
    }

    #[test]
    fn pages_of_other_sites_get_nothing_without_a_token() {
        let policy = Policy::new(AuthMode::Auto, None, Some(address(LOCAL))).unwrap();
        let peer = Peer::Tcp(Standing::Owner);
        for host in ["localhost:7878", "127.0.0.1:7878", "[::1]:7878", "localhost", "LOCALHOST", "[::1]"] {
            assert_eq!(code(&policy, peer, &[("host", host)]), Ok(Caller::Owner), "{host}");
        }
        for host in ["rebound.example:7878", "localhost.example", "192.168.1.7:7878", "127.0.0.1.example", ""]
        {
            assert_eq!(code(&policy, peer, &[("host", host)]), Err(Code::ForbiddenOrigin), "{host}");
        }
        let foreign = ["http://evil.example", "null", "https://localhost.example", "http://localhost:5173"];
        let almost =
            ["http://localhost", "https://localhost", "http://127.0.0.1:7878", "ftp://localhost:7878"];
        for origin in foreign.into_iter().chain(almost) {
            let headers = [("host", "localhost:7878"), ("origin", origin)];
            assert_eq!(code(&policy, peer, &headers), Err(Code::ForbiddenOrigin), "{origin}");
        }
        for (host, origin) in [
            ("localhost:7878", "http://localhost:7878"),
            ("LOCALHOST:7878", "http://localhost:7878"),
            ("[::1]:7878", "http://[::1]:7878"),
            ("[::1]", "http://[::1]:80"),
            ("localhost", "http://localhost"),
        ] {
            assert_eq!(
                code(&policy, peer, &[("host", host), ("origin", origin)]),
                Ok(Caller::Owner),
                "{host}"
            );
        }
        // A page of the secure port is not one of the plain port.
        let headers = [("host", "localhost"), ("origin", "https://localhost")];
        assert_eq!(code(&policy, peer, &headers), Err(Code::ForbiddenOrigin));
    }
}
