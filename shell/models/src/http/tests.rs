use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use holon_facts::Millis;
use holon_facts::model::FailureKind;
use holon_platform::spawn;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::options::ProviderOptions;
use crate::testing::{Asking, Send, Server, answer, choice, read_request};

fn says(text: &str) -> Vec<u8> {
    answer(200, &[], choice(&json!({"content": text}), &json!("stop")).to_string().as_bytes())
}

/// A certificate authority in a file, and a server for `localhost` that it vouches for.
struct Private {
    folder: TempDir,
    acceptor: TlsAcceptor,
}

impl Private {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let own = own.signed_by(&key, &authority).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(folder.path().join("ca.pem")).unwrap();
        file.write_all(authority.pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap());
        Self { folder, acceptor: TlsAcceptor::from(Arc::new(config.unwrap())) }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Answers every connection that trusts it.
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
        let acceptor = self.acceptor.clone();
        drop(spawn::task(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                if read_request(&mut stream).await.is_some() {
                    stream.write_all(&says("secretly")).await.unwrap();
                }
            }
        }));
        base
    }
}

fn trusting(file: Option<PathBuf>) -> ProviderOptions {
    ProviderOptions { ca_file: file, ..ProviderOptions::default() }
}

#[tokio::test]
async fn certificates_of_a_file_are_trusted_and_others_are_not() {
    let private = Private::new();
    let base = private.start().await;
    let said = Asking::new("local", &base, trusting(Some(private.file()))).answer().await;
    assert_eq!(said.blocks.len(), 1);
    let stranger = Asking::new("local", &base, trusting(None)).failure().await;
    assert_eq!(stranger.kind, FailureKind::Connect);
    let chain = stranger.diagnostics.unwrap().source_chain.join(": ");
    assert!(chain.contains("certificate") || chain.contains("CA"), "{chain}");
    let other = Private::new();
    let wrong = Asking::new("local", &base, trusting(Some(other.file()))).failure().await;
    assert_eq!(wrong.kind, FailureKind::Connect);
    let missing = trusting(Some("/nowhere/ca.pem".into()));
    let asking = Asking::new("local", &base, missing);
    let failure = asking.failure().await;
    assert_eq!(
        (failure.kind, failure.diagnostics.as_ref().unwrap().stage.as_str()),
        (FailureKind::Client, "client")
    );
    assert!(asking.message(&failure).contains("/nowhere/ca.pem can't be read"));
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let options = ProviderOptions { connect_timeout: Millis(150), ..ProviderOptions::default() };
    let asking = Asking::new("local", &base, options);
    let failure = asking.failure().await;
    assert_eq!(
        (failure.kind, failure.diagnostics.as_ref().unwrap().stage.as_str()),
        (FailureKind::Timeout, "connect")
    );
    assert!(asking.message(&failure).contains("no connection within 150 ms"), "{}", asking.message(&failure));
}

#[tokio::test]
async fn a_plain_proxy_sees_the_whole_address() {
    let proxy = Server::start([vec![Send::Bytes(says("through"))]]).await;
    let address = proxy.base.trim_end_matches("/v1").replace("http://", "http://me:password1@");
    let options = ProviderOptions { proxy: Some(address), ..ProviderOptions::default() };
    Asking::new("local", "http://model.example/v1", options).answer().await;
    let (head, _) = proxy.asked.lock().unwrap()[0].clone();
    assert!(head.starts_with("post http://model.example/v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains("proxy-authorization: basic "), "{head}");
}

/// Copies bytes both ways until either side is done.
async fn relay(mut client: TcpStream, to: &str) {
    let mut server = TcpStream::connect(to).await.unwrap();
    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
}

#[tokio::test]
async fn tls_goes_through_a_tunnel() {
    let private = Private::new();
    let base = private.start().await;
    let target = base.trim_start_matches("https://").trim_end_matches("/v1").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked_for = target.clone();
    drop(spawn::task(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let (head, _) = read_request(&mut client).await.unwrap();
        assert!(head.starts_with(&format!("connect {asked_for} http/1.1")), "{head}");
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        relay(client, &target).await;
    }));
    let options = ProviderOptions { proxy: Some(proxy), ..trusting(Some(private.file())) };
    Asking::new("local", &base, options).answer().await;
}

#[tokio::test]
async fn socks_resolves_names_where_it_is_told_to() {
    let server = Server::start([vec![Send::Bytes(says("through"))]]).await;
    let target = server.base.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("socks5h://{}", listener.local_addr().unwrap());
    drop(spawn::task(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut greeting = [0; 3];
        client.read_exact(&mut greeting).await.unwrap();
        client.write_all(&[5, 0]).await.unwrap();
        let mut wanted = vec![0; 4 + 1 + "model.example".len() + 2];
        client.read_exact(&mut wanted).await.unwrap();
        assert_eq!((wanted[3], &wanted[5..18]), (3, &b"model.example"[..]), "the name itself");
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        relay(client, &target).await;
    }));
    let options = ProviderOptions { proxy: Some(proxy), ..ProviderOptions::default() };
    Asking::new("local", "http://model.example/v1", options).answer().await;
}

#[tokio::test]
async fn a_proxy_that_is_away_or_refuses_is_told() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let options = ProviderOptions { proxy: Some(format!("http://{unused}")), ..ProviderOptions::default() };
    let away = Asking::new("local", "https://model.example/v1", options).failure().await;
    assert_eq!(away.kind, FailureKind::Connect);
    let proxy = Server::start([vec![Send::Bytes(answer(407, &[], b""))]]).await;
    let address = proxy.base.trim_end_matches("/v1").to_owned();
    let options = ProviderOptions { proxy: Some(address), ..ProviderOptions::default() };
    let refused = Asking::new("local", "https://model.example/v1", options).failure().await;
    assert_eq!(refused.kind, FailureKind::Connect);
}
