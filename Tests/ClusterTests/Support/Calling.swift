import Bus
import ClusterContract
import Contract
import LocalStack
import Logging
import NIOPosix
import RedisBus
import TestKit
import Testing

extension Phone {
    /// The fields of a signed call frame, V and S included (contract §7).
    func callFields(
        _ type: String, _ callID: String, to peer: String, _ more: Fields = [:],
        change: (inout Fields) -> Void = { _ in }
    ) -> Fields {
        var fields: Fields = [
            "messageId": callID, "from": self.id, "to": peer, "timestamp": nowMilliseconds(),
            "nonce": Keys.random(24).base64, "ciphertext": Keys.random(40).base64,
        ]
        change(&fields)
        // The canonical line messageId is the callId.
        var signed = self.signed(fields, as: type)
        signed["callId"] = signed["messageId"]
        return self.privileges.with(signed.without("messageId")).with(more)
    }

    func send(
        _ type: String, _ callID: String, to peer: Phone, _ more: Fields = [:], requestID: String? = nil
    ) {
        self.client.send(type, self.callFields(type, callID, to: peer.id, more), requestID: requestID)
    }

    /// Sends a call frame and takes the answer to it.
    func ask(_ type: String, _ callID: String, to peer: Phone, _ more: Fields = [:]) async throws -> JSONFrame {
        try await self.client.ask(type, self.callFields(type, callID, to: peer.id, more))
    }

    /// Begins a call.
    @discardableResult
    func calls(_ peer: Phone, _ callID: String = newUUID(), isVideo: Bool = false) -> String {
        self.send("call_initiate", callID, to: peer, ["isVideo": isVideo], requestID: "ring")
        return callID
    }

    /// Begins a call and returns when it rings there.
    func rings(_ peer: Phone, _ callID: String = newUUID()) async throws -> String {
        self.calls(peer, callID)
        _ = try await peer.gets("call_incoming", callID)
        _ = try await self.gets("call_ringing", callID)
        return callID
    }

    /// Begins a call that the other takes.
    func talks(to peer: Phone) async throws -> String {
        let callID = try await self.rings(peer)
        peer.send("call_answer", callID, to: self)
        _ = try await self.gets("call_answer", callID)
        return callID
    }

    @discardableResult
    func gets(
        _ type: String, _ callID: String, within timeout: Duration = TestClient.timeout
    ) async throws -> JSONFrame {
        try await self.client.next(type, within: timeout) { $0.payload["callId"]?.string == callID }
    }

    /// So many different candidates, in the order in which they came first: what is not confirmed in time comes again.
    /// - Returns: their signatures.
    func getsCandidates(_ count: Int, _ callID: String) async throws -> [JSON?] {
        var got: [JSON?] = []
        while got.count < count {
            let signature = try await self.gets("call_ice_candidate", callID).payload["sig"]
            if !got.contains(signature) { got.append(signature) }
        }
        return got
    }

    /// - Returns: the reason.
    func getsEnd(_ callID: String) async throws -> String? {
        try await self.gets("call_end", callID, within: .seconds(30)).payload["reason"]?.string
    }

    /// Everything sent before has been handled: a frame about no call, to the same peer, is answered behind it.
    func settle(with peer: Phone) async throws {
        #expect(try await self.ask("call_end", newUUID(), to: peer).errorCode == "NOT_FOUND")
    }
}

extension Cluster {
    /// Wake-ups for this person that push was asked for so far.
    static func callWakes(for phone: Phone) async throws -> [Wake] {
        let bus = RedisBus(
            configuration: RedisConfiguration(port: self.stack.ports.redis),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        defer { Task { await bus.close() } }
        try await bus.waitUntilConnected(for: .seconds(5))
        let read = try await bus.read(
            [(stream: Keyspace.callWakes.name, after: .start)], limit: 10_000, blockFor: .milliseconds(1))
        return try read.flatMap(\.entries).map { try Wake(decoding: $0.bytes) }
            .filter { "\($0.recipient)" == phone.id }
    }

    /// The answer to "is it still ringing?".
    static func ringing(for phone: Phone) async throws -> [JSON] {
        let answer = try #require(
            await LoopbackRequest.get(
                "/calls/ringing", port: self.stack.ports.public, headers: ["Authorization": "Bearer \(phone.token)"]))
        #expect(answer.status == 200, "\(answer.body)")
        return try JSON(parsing: Array(answer.body.utf8))["calls"]?.elements ?? []
    }
}

extension Phone {
    /// Ends the connection and returns when nobody is thought to be there.
    func leaves() async throws {
        self.client.cut()
        let key = Keyspace.presence(WhisperID(self.id)!).name
        try await waitUntil("the presence of \(self.id) is gone", within: .seconds(10)) {
            let count = try await Command(
                "/usr/bin/redis-cli", ["-p", "\(Cluster.stack.ports.redis)", "EXISTS", key]
            ).output(name: "redis-cli")
            return count.hasPrefix("0")
        }
    }
}
