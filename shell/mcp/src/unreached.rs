//! Why nothing came over HTTP, in words: the library names its own types.

use std::error::Error;

use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::protocol::with_causes;

/// What happened below the transport.
pub(crate) fn unreached(error: &DynamicTransportError) -> String {
    match http(error) {
        Some(StreamableHttpError::Client(request)) => of_request(request),
        Some(_) | None => with_causes(&*error.error),
    }
}

/// Whether the server does not know the session any more: the request was not carried out.
pub(crate) fn has_expired(error: &DynamicTransportError) -> bool {
    matches!(http(error), Some(StreamableHttpError::SessionExpired))
}

/// Whether nobody took the connection: the request was not sent.
pub(crate) fn was_not_sent(error: &DynamicTransportError) -> bool {
    matches!(http(error), Some(StreamableHttpError::Client(request)) if request.is_connect())
}

fn http(error: &DynamicTransportError) -> Option<&StreamableHttpError<reqwest::Error>> {
    error.error.downcast_ref()
}

fn of_request(error: &reqwest::Error) -> String {
    match error.url() {
        Some(url) if error.is_connect() || error.is_timeout() => {
            format!("{url} can't be reached: {}", innermost(error))
        }
        Some(_) | None => with_causes(error),
    }
}

/// What an error comes from in the end, without the number of the system for it.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let text = last.to_string();
    let Some((text, _)) = text.split_once(" (os error") else { return text };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;

    #[tokio::test]
    async fn a_closed_port_is_named_without_types() {
        crate::protocol::install_provider();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = format!("http://{free}/mcp");
        let refused = reqwest::Client::new().get(&url).send().await.unwrap_err();
        let error: Box<dyn Error + Send + Sync> = Box::new(StreamableHttpError::Client(refused));
        let error = DynamicTransportError::from_parts("rmcp::transport", TypeId::of::<()>(), error);
        assert_eq!(unreached(&error), format!("{url} can't be reached: connection refused"));
        assert!(was_not_sent(&error) && !has_expired(&error));
    }
}
