/// A person with a session on a connection.
package struct Phone: Sendable {
    package var client: TestClient
    package let person: Person
    package let id: String
    package var token: String

    package init(client: TestClient, person: Person, id: String, token: String) {
        self.client = client
        self.person = person
        self.id = id
        self.token = token
    }

    /// The same session on another connection.
    package func moved(to client: TestClient) -> Phone {
        var phone = self
        phone.client = client
        return phone
    }

    /// V and S.
    package var privileges: Fields { Person.versions.with(["sessionToken": self.token]) }

    /// Sends a privileged frame and takes the answer to it. `fields` overrides V and S.
    package func ask(
        _ type: String, _ fields: Fields = [:], within timeout: Duration = TestClient.timeout
    ) async throws -> JSONFrame {
        try await self.client.ask(type, self.privileges.with(fields), within: timeout)
    }

    // MARK: Messages

    /// The fields of a `send_message` after V and S, signed.
    /// - Parameters:
    ///   - bytes: of ciphertext.
    ///   - change: what is different about this one, before it is signed.
    package func message(
        to recipient: String, id: String = newUUID(), bytes: Int = 40, change: (inout Fields) -> Void = { _ in }
    ) -> Fields {
        var fields: Fields = [
            "messageId": id, "from": self.id, "to": recipient, "msgType": "text", "timestamp": nowMilliseconds(),
            "nonce": Keys.random(24).base64, "ciphertext": Keys.random(bytes).base64,
        ]
        change(&fields)
        return self.signed(fields)
    }

    /// The fields of a `group_send_message` after V and S, signed.
    package func groupMessage(
        to recipient: String, in group: String, id: String = newUUID(), change: (inout Fields) -> Void = { _ in }
    ) -> Fields {
        let message = self.message(to: recipient, id: id) {
            $0["groupId"] = group
            change(&$0)
        }
        // The line that names the recipient elsewhere names the group here.
        let signature = self.signed(message.with(["to": group]), as: "group_send_message")["sig"]!
        return message.with(["sig": signature.json])
    }

    /// With the signature that belongs to the fields (spec §3.5).
    package func signed(_ fields: Fields, as type: String = "send_message") -> Fields {
        fields.with(["sig": self.person.keys.sign(Self.digest(of: fields, as: type)).base64])
    }

    /// Digest that a message's signature covers (spec §3.5).
    package static func digest(of fields: Fields, as type: String = "send_message") -> [UInt8] {
        let names = ["messageId", "from", "to", "timestamp", "nonce", "ciphertext"]
        let lines = ["v1", type] + names.map { fields[$0]?.json.string ?? fields[$0]?.json.text ?? "" }
        return Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Sends a message; returns the answer, whatever it is.
    package func send(_ message: Fields) async throws -> JSONFrame {
        try await self.ask("send_message", message)
    }

    /// Sends a new message and waits for its acknowledgement.
    /// - Returns: its id.
    @discardableResult
    package func text(_ recipient: Phone, id: String = newUUID(), bytes: Int = 40) async throws -> String {
        try await self.send(self.message(to: recipient.id, id: id, bytes: bytes)).expecting("message_accepted")
        return id
    }

    /// Says that it has a message. No answer comes.
    package func acknowledge(
        _ messageID: String, from sender: String, status: String = "delivered", at time: Int64 = nowMilliseconds()
    ) {
        self.client.send("delivery_receipt", self.receipt(messageID, from: sender, status: status, at: time))
    }

    package func receipt(
        _ messageID: String, from sender: String, status: String = "delivered", at time: Int64 = nowMilliseconds()
    ) -> Fields {
        self.privileges.with([
            "messageId": messageID, "from": self.id, "to": sender, "status": status, "timestamp": time,
        ])
    }

    /// The next live message with this id.
    package func received(
        _ messageID: String, within timeout: Duration = TestClient.timeout
    ) async throws -> JSONFrame {
        try await self.client.frame("message_received \(messageID)", within: timeout) {
            $0.type == "message_received" && $0.payload["messageId"]?.string == messageID
        }
    }

    // MARK: Mailbox

    /// One page.
    package func fetch(cursor: String? = nil, limit: Int? = nil) async throws -> Page {
        var fields: Fields = [:]
        fields["cursor"] = cursor
        fields["limit"] = limit
        return Page(frame: try await self.ask("fetch_pending", fields).expecting("pending_messages"))
    }

    /// All pages, without acknowledging anything.
    package func pending(limit: Int? = nil) async throws -> [JSON] {
        var page = try await self.fetch(limit: limit)
        var messages = page.messages
        while let cursor = page.nextCursor {
            page = try await self.fetch(cursor: cursor, limit: limit)
            messages += page.messages
        }
        return messages
    }
}

/// A `pending_messages` frame.
package struct Page: Sendable {
    package var frame: JSONFrame

    package init(frame: JSONFrame) { self.frame = frame }

    package var messages: [JSON] { self.frame.payload["messages"]?.elements ?? [] }
    package var ids: [String] { self.messages.map(\.id) }
    package var nextCursor: String? { self.frame.payload["nextCursor"]?.string }
}

extension JSON {
    /// Id of a message.
    package var id: String { self["messageId"]?.string ?? "" }
}
