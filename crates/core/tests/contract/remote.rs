//! Backends that an application wrote: here a backend in memory that answers questions, with more or less methods.

use std::sync::Arc;

use gloveport_core::backend::remote::{Answer, Payload, Peer, Question, Questions, RemoteBackend, RemoteOptions};
use gloveport_core::backend::{Backend, BoxFuture, Call};
use gloveport_core::error::Result;
use gloveport_core::wire::{Content, Request, invoke};
use serde_json::{Value, json};

use super::{contract, memory, place};

/// Answers by the methods of a backend.
struct Served(Arc<dyn Backend>);

impl Questions for Served {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let Question { method, arguments, content, .. } = question;
            let names: &[&str] = match method {
                "move" | "copy" => &["from", "to"],
                _ => &["path"],
            };
            let mut object = serde_json::Map::new();
            for (index, argument) in arguments.as_array().into_iter().flatten().enumerate() {
                match (names.get(index), argument) {
                    (Some(name), value) => drop(object.insert((*name).to_owned(), value.clone())),
                    (None, Value::Object(options)) => object.extend(options.clone()),
                    (None, _) => {}
                }
            }
            let content = content.map(|content| match content {
                Payload::Text(text) => Content::Text(text),
                Payload::Bytes(bytes) => Content::Bytes(bytes),
            });
            let request = Request {
                method: method.to_owned(),
                arguments_json: json!(object).to_string(),
                content,
                on_output: None,
            };
            let reply = invoke(&*self.0, request, &Call::default()).await?;
            let content = match (reply.text, reply.bytes) {
                (Some(text), _) => Some(Payload::Text(text)),
                (None, bytes) => bytes.map(Payload::Bytes),
            };
            // A listing tells more than its entries.
            let value = reply.value.map(|value| value.get("entries").cloned().unwrap_or(value));
            Ok(Answer { value, content })
        })
    }

    fn withdraw(&self, _id: u64) {}
}

fn remote(methods: &[&str]) -> RemoteBackend {
    let peer =
        Peer::new(Arc::new(Served(Arc::new(memory()))), methods.iter().map(|method| (*method).to_owned()).collect());
    RemoteBackend::new(Arc::new(peer), None, RemoteOptions::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_of_the_application_keeps_the_contract() {
    let all = ["ls", "stat", "readBytes", "read", "write", "append", "mkdir", "remove", "move", "copy"];
    contract("user-made, all methods", || place(remote(&all), "/")).await;
    let few = ["ls", "readBytes", "write", "mkdir", "remove"];
    contract("user-made, five methods", || place(remote(&few), "/")).await;
}
