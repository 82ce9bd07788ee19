//! Where a runtime listens and who may come in: every combination that would let strangers in is refused here,
//! before anything is started (contract: surface.md, HTTP).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use url::Url;

use super::token::Token;
use crate::home::Home;
use crate::settings::{Access, AuthMode, ServerSettings};

/// How a runtime is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub access: Access,
    pub listen: SocketAddr,
    pub advertise: Option<String>,
    pub auth: AuthMode,
    pub token: Option<Token>,
    pub socket: PathBuf,
}

/// Settings that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("access {access} listens on this machine alone, but {listen} can be reached from elsewhere", access = access.name())]
    NotLoopback { access: Access, listen: IpAddr },
    #[error("access lan needs an address of a private network, not {listen}")]
    NotPrivate { listen: IpAddr },
    #[error(
        "access tailnet needs an address of a tailnet (100.64.0.0/10 or fd7a:115c:a1e0::/48), not {listen}"
    )]
    NotTailnet { listen: IpAddr },
    #[error("access {access} lets others in, so it needs a control token", access = access.name())]
    NoToken { access: Access },
    #[error("server.auth is required, but there is no control token")]
    NothingToAsk,
    #[error("server.auth is disabled, which access {access} does not allow: others could do everything", access = access.name())]
    OpenToAll { access: Access },
}

impl Endpoint {
    /// The endpoint that these settings describe.
    ///
    /// # Errors
    /// When it would let in whoever comes along, or nobody.
    pub fn new(settings: &ServerSettings, token: Option<Token>, home: &Home) -> Result<Self, EndpointError> {
        let access = settings.access;
        let listen = Self::address(settings);
        let ip = listen.ip();
        match access {
            Access::Local | Access::Tunnel if !ip.is_loopback() => {
                return Err(EndpointError::NotLoopback { access, listen: ip });
            }
            Access::Lan if !is_private(ip) => return Err(EndpointError::NotPrivate { listen: ip }),
            Access::Tailnet if !is_tailnet(ip) => return Err(EndpointError::NotTailnet { listen: ip }),
            Access::Local | Access::Tunnel | Access::Lan | Access::Tailnet => {}
        }
        match (settings.auth, access, &token) {
            (AuthMode::Auto | AuthMode::Required, _, Some(_))
            | (AuthMode::Auto | AuthMode::Disabled, Access::Local, _) => {}
            (AuthMode::Required, Access::Local, None) => return Err(EndpointError::NothingToAsk),
            (AuthMode::Auto | AuthMode::Required, Access::Tunnel | Access::Lan | Access::Tailnet, None) => {
                return Err(EndpointError::NoToken { access });
            }
            (AuthMode::Disabled, Access::Tunnel | Access::Lan | Access::Tailnet, _) => {
                return Err(EndpointError::OpenToAll { access });
            }
        }
        let socket = settings.socket.clone().unwrap_or_else(|| home.socket());
        let advertise = settings.advertise.clone();
        Ok(Self { access, listen, advertise, auth: settings.auth, token, socket })
    }

    /// The address to listen on. Where only the advertised address is known to others, that is the one.
    fn address(settings: &ServerSettings) -> SocketAddr {
        let listen = settings.listen;
        let advertised = || {
            let url = Url::parse(settings.advertise.as_deref()?).ok()?;
            url.host_str()?.trim_matches(['[', ']']).parse::<IpAddr>().ok()
        };
        match settings.access {
            Access::Lan | Access::Tailnet if listen.ip().is_loopback() => {
                advertised().map_or(listen, |ip| SocketAddr::new(ip, listen.port()))
            }
            Access::Local | Access::Tunnel | Access::Lan | Access::Tailnet => listen,
        }
    }

    /// Whether the home's own token is what others show: nobody has chosen one, and not everybody may come.
    pub fn has_own_token(&self) -> bool {
        self.auth == AuthMode::Auto && self.token.is_none()
    }

    /// Who may ask over TCP, in a sentence; `among_commands`: confined commands can connect.
    pub fn who_may_ask(&self, home: &Home, among_commands: bool) -> String {
        let own = home.control_token();
        match (self.auth, among_commands) {
            (AuthMode::Disabled, false) => {
                "over TCP every user of this machine may ask: server.auth is disabled".to_owned()
            }
            (AuthMode::Disabled, true) => {
                "over TCP nobody may ask: server.auth is disabled, and confined commands can connect"
                    .to_owned()
            }
            (AuthMode::Auto | AuthMode::Required, _) if !self.has_own_token() => {
                "over TCP whoever has the configured control token may ask".to_owned()
            }
            (AuthMode::Auto | AuthMode::Required, true) => {
                format!(
                    "over TCP whoever has the control token in {} may ask, and no confined command",
                    own.display()
                )
            }
            (AuthMode::Auto | AuthMode::Required, false) => format!(
                "over TCP processes of this user may ask; other users and containers need the control token in {}",
                own.display()
            ),
        }
    }

    /// Whether whoever comes over TCP must show the token.
    pub fn tcp_asks(&self) -> bool {
        match self.auth {
            AuthMode::Auto => self.token.is_some(),
            AuthMode::Required => true,
            AuthMode::Disabled => false,
        }
    }
}

impl EndpointError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "--host 127.0.0.1, or --access lan with a token",
            Self::NotPrivate { .. } => {
                "--host with this machine's address in the private network, for example 192.168.1.7"
            }
            Self::NotTailnet { .. } => "--host with this machine's address in the tailnet",
            Self::NoToken { .. } | Self::NothingToAsk => {
                "--token-file FILE with a token of 16 or more characters, or HOLON_CONTROL_TOKEN"
            }
            Self::OpenToAll { .. } => "holon config set server.auth auto",
        }
    }
}

fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn is_tailnet(ip: IpAddr) -> bool {
    const PREFIX: [u16; 3] = [0xfd7a, 0x115c, 0xa1e0];
    match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = Ipv4Addr::octets(&ip);
            first == 100 && second & 0xc0 == 64
        }
        IpAddr::V6(ip) => Ipv6Addr::segments(&ip).starts_with(&PREFIX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(
        access: Access,
        listen: &str,
        auth: AuthMode,
        token: bool,
    ) -> Result<Endpoint, EndpointError> {
        let listen = format!("{listen}:1").parse().unwrap();
        let settings = ServerSettings { access, listen, auth, ..ServerSettings::default() };
        let token = token.then(|| Token::new("test", "0123456789abcdef").unwrap());
        Endpoint::new(&settings, token, &Home::at("/h"))
    }

    #[test]
    fn each_access_has_its_addresses() {
        use Access::{Lan, Local, Tailnet, Tunnel};
        const PLACES: [&str; 7] =
            ["127.0.0.1", "[::1]", "192.168.1.7", "[fd00::1]", "100.100.1.1", "0.0.0.0", "8.8.8.8"];
        let fits = |access| {
            let fits = |place: &&&str| endpoint(access, place, AuthMode::Auto, true).is_ok();
            PLACES.iter().filter(fits).copied().collect::<Vec<_>>()
        };
        assert_eq!(fits(Local), ["127.0.0.1", "[::1]"]);
        assert_eq!(fits(Tunnel), ["127.0.0.1", "[::1]"]);
        assert_eq!(fits(Lan), ["192.168.1.7", "[fd00::1]"]);
        assert_eq!(fits(Tailnet), ["100.100.1.1"]);
        assert!(endpoint(Tailnet, "[fd7a:115c:a1e0::5]", AuthMode::Auto, true).is_ok());
    }

    #[test]
    fn whoever_lets_others_in_asks_for_a_token() {
        use AuthMode::{Auto, Disabled, Required};
        for (access, listen) in
            [(Access::Tunnel, "127.0.0.1"), (Access::Lan, "10.0.0.1"), (Access::Tailnet, "100.64.0.1")]
        {
            for mode in [Auto, Required] {
                assert_eq!(endpoint(access, listen, mode, false), Err(EndpointError::NoToken { access }));
                assert!(endpoint(access, listen, mode, true).unwrap().tcp_asks());
            }
            let open = Err(EndpointError::OpenToAll { access });
            assert_eq!(endpoint(access, listen, Disabled, true), open);
            assert_eq!(endpoint(access, listen, Disabled, false), open);
        }
        let local = |mode, token| endpoint(Access::Local, "127.0.0.1", mode, token).map(|end| end.tcp_asks());
        assert_eq!((local(Auto, false), local(Auto, true)), (Ok(false), Ok(true)));
        assert_eq!((local(Disabled, false), local(Disabled, true)), (Ok(false), Ok(false)));
        assert_eq!(
            (local(Required, false), local(Required, true)),
            (Err(EndpointError::NothingToAsk), Ok(true))
        );
    }

    #[test]
    fn an_advertised_address_is_listened_on() {
        let settings = ServerSettings {
            access: Access::Lan,
            advertise: Some("http://192.168.1.7:9000/".to_owned()),
            ..ServerSettings::default()
        };
        let token = Token::new("test", "0123456789abcdef").ok();
        let endpoint = Endpoint::new(&settings, token, &Home::at("/h")).unwrap();
        assert_eq!(endpoint.listen.to_string(), "192.168.1.7:7878");
        assert_eq!(endpoint.socket, Home::at("/h").socket());
    }
}
