import Contract
package import ContractSchema

/// The WebSocket as an AsyncAPI 3.0 document, from the server's point of view: it receives what clients send.
package enum AsyncAPI {
    package static var document: Document {
        let frames = DocumentedFrame.all
        let channel: Document = [
            "address": "/ws",
            "title": "The one WebSocket",
            "description": .string(
                "Text messages only, one frame each, \(Limits.frameBytesMax) bytes at most. See protocol.md for order and close codes."
            ),
            "messages": .members(frames.map { ($0.key, self.reference("components/messages/\($0.key)")) }),
            "bindings": ["ws": ["method": "GET", "bindingVersion": "0.1.0"]],
        ]
        return [
            "asyncapi": "3.0.0",
            "info": [
                "title": "Whisper WebSocket", "version": .string(Release.version),
                "description":
                    "Every frame between Whisper clients and the gateway. Generated from the contract's definition.",
            ],
            "defaultContentType": "application/json",
            "servers": ["public": ["host": "whisper.example", "protocol": "wss"]],
            "channels": ["socket": channel],
            "operations": .members(self.operations),
            "components": [
                "messages": .members(frames.map { ($0.key, self.message($0)) }),
                "schemas": .members(frames.map { ($0.key, $0.jsonSchema) }),
            ],
        ]
    }

    private static var operations: [(String, Document?)] {
        let received = FrameCatalogue.all.map { frame -> (String, Document?) in
            let key = "client.\(frame.type)"
            let answers = answers(to: frame.type).map { self.message("server.\($0.type)") }
            return (
                key,
                Document.members([
                    ("action", "receive"), ("channel", self.reference("channels/socket")),
                    ("summary", .string(frame.about)), ("messages", [self.message(key)]),
                    (
                        "reply",
                        [
                            "channel": self.reference("channels/socket"),
                            "messages": .array(answers + [self.message("server.error")]),
                        ]
                    ),
                ])
            )
        }
        let sent = ServerFrameCatalogue.all.filter(\.answers.isEmpty).map { frame -> (String, Document?) in
            let key = "server.\(frame.type)"
            return (
                key,
                [
                    "action": "send", "channel": self.reference("channels/socket"), "summary": .string(frame.about),
                    "messages": [self.message(key)],
                ]
            )
        }
        return received + sent
    }

    private static func message(_ frame: DocumentedFrame) -> Document {
        [
            "name": .string(frame.type), "title": .string(frame.type), "summary": .string(frame.about),
            "payload": self.reference("components/schemas/\(frame.key)"),
            "examples": .array(frame.samples.map { ["payload": frame.frame($0)] }),
        ]
    }

    private static func message(_ key: String) -> Document { self.reference("channels/socket/messages/\(key)") }
    private static func reference(_ path: String) -> Document { ["$ref": .string("#/\(path)")] }
}

/// The server's direct answers to a client's frame, but for `error`.
func answers(to type: String) -> [ServerFrameDefinition] {
    ServerFrameCatalogue.all.filter { $0.answers.contains(type) }
}
