//! The client of production: reqwest, chosen and made by [`Clients`].

use std::error::Error;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use url::Url;

use super::client::{ClientError, Clients};
use super::http_client::{Answer, Broken, How, HttpClient, Sending};
use crate::options::ProviderOptions;

/// Causes of an error that are told.
const CAUSES: usize = 8;

impl HttpClient for Clients {
    fn send<'a>(&'a self, request: Request<Bytes>, options: &'a ProviderOptions) -> Sending<'a> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = Url::parse(&head.uri.to_string())
                .map_err(|error| Broken { how: How::NoRequest, causes: vec![error.to_string()] })?;
            let client = self.client(&url, options).await?;
            let sent = client.request(head.method, url).headers(head.headers).body(body).send().await;
            Ok(answer(sent.map_err(Broken::from)?))
        })
    }
}

fn answer(response: reqwest::Response) -> Answer {
    let response: Response<reqwest::Body> = response.into();
    response.map(|body| body.map_err(Broken::from).boxed_unsync())
}

impl From<ClientError> for Broken {
    fn from(error: ClientError) -> Self {
        Self { how: How::NoClient(error.kind()), causes: vec![error.to_string()] }
    }
}

impl From<reqwest::Error> for Broken {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let how = match (error.is_connect(), error.is_timeout()) {
            (true, true) => How::ConnectTooLate,
            (true, false) => How::NoConnection,
            (false, true) => How::TooLate,
            (false, false) if error.is_builder() => How::NoRequest,
            (false, false) => How::CutOff,
        };
        Self { how, causes: causes(&error) }
    }
}

pub(super) fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut chain = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        if chain.len() == CAUSES {
            break;
        }
        chain.push(cause.to_string());
        next = cause.source();
    }
    chain
}
