//! How a document travels: in protobuf, which every collector takes over HTTP, or as it is.

use bytes::Bytes;
use http::HeaderValue;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde::de::DeserializeOwned;

use super::Signal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Protobuf,
    Json,
}

/// What is sent of a document of OTLP in JSON, and what kind of content that is.
///
/// # Errors
/// When its schema does not have it.
pub(super) fn body(
    signal: Signal,
    encoding: Encoding,
    document: String,
) -> Result<(HeaderValue, Bytes), serde_json::Error> {
    let body = match (encoding, signal) {
        (Encoding::Json, _) => {
            return Ok((HeaderValue::from_static("application/json"), Bytes::from(document)));
        }
        (Encoding::Protobuf, Signal::Traces) => protobuf::<ExportTraceServiceRequest>(&document)?,
        (Encoding::Protobuf, Signal::Metrics) => protobuf::<ExportMetricsServiceRequest>(&document)?,
    };
    Ok((HeaderValue::from_static("application/x-protobuf"), body))
}

fn protobuf<T: DeserializeOwned + Message>(document: &str) -> Result<Bytes, serde_json::Error> {
    Ok(Bytes::from(serde_json::from_str::<T>(document)?.encode_to_vec()))
}
