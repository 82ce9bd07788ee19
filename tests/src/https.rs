//! Certificates, and a proxy that others reach by HTTPS.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;

/// A certificate of an authority of its own, and the authority; none without the program that makes them.
pub fn certificates(folder: &Path) -> Option<PathBuf> {
    let made = |arguments: &str| {
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
        made.is_ok_and(|made| made.status.success())
    };
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").expect("a file");
    let all = made(
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority",
    ) && made("req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost")
        && made(
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile names",
        );
    if !all {
        return None;
    }
    // The server reads its key as whoever it runs as.
    let owner = std::fs::metadata(folder).expect("a folder").uid();
    for name in ["server.key", "server.crt"] {
        let path = folder.join(name);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a mode");
        chown(&path, Some(owner), None).expect("an owner");
    }
    Some(folder.join("ca.crt"))
}

/// Takes connections for `localhost` by TLS, and passes what comes on without it.
pub struct Proxy {
    pub url: String,
    to: Arc<OnceLock<SocketAddr>>,
    taken: Arc<AtomicUsize>,
}

impl Proxy {
    /// With the certificate of a folder.
    pub fn start(folder: &Path) -> Self {
        let certificate = CertificateDer::from_pem_file(folder.join("server.crt")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(vec![certificate], key))
            .expect("a configuration");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
        let (to, taken) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
        let (target, counted) = (to.clone(), taken.clone());
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("it does not block");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                while let Ok((stream, _)) = listener.accept().await {
                    let (acceptor, target, counted) = (acceptor.clone(), target.clone(), counted.clone());
                    tokio::spawn(async move {
                        let Ok(mut stream) = acceptor.accept(stream).await else { return };
                        let Some(target) = target.get() else { return };
                        let Ok(mut other) = tokio::net::TcpStream::connect(target).await else { return };
                        counted.fetch_add(1, Ordering::Relaxed);
                        tokio::io::copy_bidirectional(&mut stream, &mut other).await.ok();
                    });
                }
            });
        });
        Self { url, to, taken }
    }

    /// Where everything goes from now on.
    pub fn passes_on_to(&self, address: &str) {
        self.to.set(address.parse().expect("an address")).expect("it is said once");
    }

    /// Connections whose clients trusted the certificate.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}
