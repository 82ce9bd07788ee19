//! Attempts over a network that is simulated: a client that stands in for reqwest, and servers that misbehave.

mod attempt;
mod turn;

use std::time::Duration;

use bytes::Bytes;
use holon_core::tool::catalogue;
use holon_models::testing::{answer, choice, events, read_request, spec};
use holon_models::{Answer, Broken, How, HttpClient, ProviderOptions, Providers, Sending, Tools};
use holon_platform::spawn;
use http::header::HOST;
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use turmoil::Sim;
use turmoil::net::{TcpListener, TcpStream};

const PROVIDER: &str = "provider";
const PORT: u16 = 80;

/// Sends each request over a connection of its own.
struct Simulated;

impl HttpClient for Simulated {
    fn send<'a>(&'a self, request: Request<Bytes>, options: &'a ProviderOptions) -> Sending<'a> {
        Box::pin(async move {
            let patience = Duration::from_millis(options.connect_timeout.0);
            let stream = match timeout(patience, TcpStream::connect((PROVIDER, PORT))).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return Err(broken(How::NoConnection, &error)),
                Err(elapsed) => return Err(broken(How::ConnectTooLate, &elapsed)),
            };
            exchange(stream, request).await.map_err(|error| broken(How::CutOff, &error))
        })
    }
}

async fn exchange(stream: TcpStream, request: Request<Bytes>) -> hyper::Result<Answer> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    drop(spawn::task(connection));
    let mut request = request.map(Full::new);
    *request.uri_mut() = Uri::from_static("/v1/chat/completions");
    request.headers_mut().insert(HOST, HeaderValue::from_static(PROVIDER));
    let answer = sender.send_request(request).await?;
    Ok(answer.map(|body| body.map_err(|error| broken(How::CutOff, &error)).boxed_unsync()))
}

fn broken(how: How, error: &dyn std::error::Error) -> Broken {
    Broken { how, causes: vec![error.to_string()] }
}

fn providers(options: ProviderOptions) -> Providers {
    let base = format!("http://{PROVIDER}:{PORT}/v1");
    Providers::new(vec![spec("local", &base, options)], Tools::new(catalogue())).over(Simulated)
}

/// What a server does with a connection.
#[derive(Debug, Clone, Copy)]
enum Server {
    /// Answers with one document.
    Answers,
    /// Answers as a stream, slowly.
    Streams {
        pause: Duration,
    },
    /// Says nothing.
    Silent,
    /// Says only that it will answer.
    Begins,
    /// Falls silent in the middle of a stream.
    Stalls,
    /// Never comes to an end.
    Endless {
        pause: Duration,
    },
    /// Closes the connection before it answers, in the middle of a document, or in the middle of a stream.
    Closes,
    ClosesDocument,
    ClosesStream,
    /// Resets it instead.
    Resets,
    ResetsStream,
}

const PIECE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

impl Server {
    async fn serve(self, mut stream: TcpStream) {
        let resets = matches!(self, Self::Resets | Self::ResetsStream);
        if resets {
            // Whoever closes without having read everything resets.
            stream.read_u8().await.unwrap();
            sleep(Duration::from_secs(1)).await;
        } else if read_request(&mut stream).await.is_none() {
            return;
        }
        let document =
            answer(200, &[], choice(&json!({"content": "whole"}), &json!("stop")).to_string().as_bytes());
        match self {
            Self::Answers => drop(stream.write_all(&document).await),
            Self::Silent => gone(&mut stream).await,
            Self::Begins => {
                drop(stream.write_all(&events("")).await);
                gone(&mut stream).await;
            }
            Self::Stalls => {
                drop(stream.write_all(&events(PIECE)).await);
                gone(&mut stream).await;
            }
            Self::Streams { pause } => {
                drop(stream.write_all(&events(PIECE)).await);
                for text in [PIECE, PIECE, FINISH] {
                    sleep(pause).await;
                    drop(stream.write_all(text.as_bytes()).await);
                }
            }
            Self::Endless { pause } => {
                drop(stream.write_all(&events("")).await);
                while stream.write_all(b": \n").await.is_ok() {
                    sleep(pause).await;
                }
            }
            Self::Closes | Self::Resets => {}
            Self::ClosesDocument => drop(stream.write_all(&document[..document.len() - 5]).await),
            Self::ClosesStream | Self::ResetsStream => {
                drop(stream.write_all(&events(PIECE)).await);
                // A reset overtakes nothing that has arrived.
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Waits until the client lets go.
async fn gone(stream: &mut TcpStream) {
    while stream.read_u8().await.is_ok() {}
}

/// A host that does this with its connections, one after the other; later ones get an answer.
fn host(sim: &mut Sim<'_>, servers: &'static [Server]) {
    sim.host(PROVIDER, move || async move {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
        for server in servers.iter().copied().chain(std::iter::repeat(Server::Answers)) {
            let (stream, _) = listener.accept().await?;
            drop(tokio::task::spawn_local(server.serve(stream)));
        }
        Ok(())
    });
}
