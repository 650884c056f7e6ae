import TestKit
import Testing

extension LimitedCluster {
    /// Actions with a rate limit for each identity (contract §11). Messages, fetches and presigns have tests of their
    /// own.
    enum Deed: String, CaseIterable, Sendable {
        case groupEnvelopes, receipts, tokenUpdates, groups, calls, iceCandidates, turnCredentials, keys, backup,
            profiles, reports, ringing, peeks

        /// In this cluster.
        var perMinute: Int {
            switch self {
            case .groupEnvelopes, .receipts: 60
            case .iceCandidates: 30
            case .profiles: 12
            case .keys, .ringing: 6
            case .peeks: 3
            case .groups, .calls, .turnCredentials, .backup: 2
            case .tokenUpdates, .reports: 1
            }
        }
    }

    /// A longer wait, in milliseconds, is not that of a connection which has sent too many frames: ten a second are allowed. All
    /// rates of identities are slower.
    private static let frameWaitMax: Int64 = 200

    @Test(arguments: Deed.allCases) func anIdentityDoesEachThingOnlySoOften(deed: Deed) async throws {
        let address = "127.0.1.\(1 + Deed.allCases.firstIndex(of: deed)!)"
        let alice = try await Person().logIn(on: try await Cluster.client(gateway: 1, from: address))
        let bob = try await Person().logIn(on: try await Cluster.client(gateway: 1, from: address))
        let group = try await deed == .groupEnvelopes ? alice.newGroup(with: bob) : ""
        var uses = 0
        var refusal: Int64?
        // A minute's worth at once. A minute gives as much again: whoever takes less than that is refused on the way.
        for _ in 0..<1_000 where refusal == nil && uses <= 2 * deed.perMinute {
            let outcome = try await deed.outcome(of: alice, with: bob, in: group, number: uses)
            uses += outcome.uses
            guard let wait = outcome.wait else { continue }
            #expect(wait > 0)
            if wait > Self.frameWaitMax {
                refusal = wait
            } else {
                // It was the connection that has sent too much. It waits as it is told.
                try await Task.sleep(for: .milliseconds(wait))
            }
        }
        #expect(uses >= deed.perMinute)
        let wait = try #require(refusal, "\(uses) were taken")
        #expect(wait <= Int64(60_000 / deed.perMinute))
        // Nobody else is concerned.
        #expect(try await deed.outcome(of: bob, with: alice, in: group, number: 0).wait == nil)
    }
}

extension LimitedCluster.Deed {
    /// How often it was done, and the milliseconds after which it may be done again if it was refused for being too often.
    typealias Outcome = (uses: Int, wait: Int64?)

    /// Receipts have no answer, so that it takes another frame to see what became of them: one for so many.
    private static let receiptsAtOnce = 10

    /// Does it.
    /// - Parameters:
    ///   - group: in which both are.
    ///   - number: what is counted together is done in turn.
    /// - Throws: when it was refused for any other reason.
    func outcome(of phone: Phone, with peer: Phone, in group: String, number: Int) async throws -> Outcome {
        switch self {
        case .groupEnvelopes:
            let message = phone.groupMessage(to: peer.id, in: group)
            return try self.outcome(of: try await phone.ask("group_send_message", message), "message_accepted")
        case .receipts:
            return try await self.acknowledge(by: phone, to: peer)
        case .tokenUpdates:
            return try self.outcome(of: try await phone.ask("update_tokens"), "tokens_updated")
        case .groups:
            guard number.isMultiple(of: 2) else {
                return try self.outcome(of: try await phone.ask("group_list"), "groups")
            }
            let nobody: [String] = []
            let create: Fields = ["title": "Alone", "memberIds": nobody]
            return try self.outcome(of: try await phone.ask("group_create", create), "group_event")
        case .calls:
            let type = number.isMultiple(of: 2) ? "call_answer" : "call_end"
            return try self.outcome(of: try await phone.ask(type, newUUID(), to: peer), "NOT_FOUND")
        case .iceCandidates:
            return try self.outcome(of: try await phone.ask("call_ice_candidate", newUUID(), to: peer), "NOT_FOUND")
        case .turnCredentials:
            return try self.outcome(of: try await phone.ask("get_turn_credentials"), "turn_credentials")
        case .keys:
            return try self.outcome(of: try await phone.http("GET", "/users/\(peer.id)/keys"))
        case .backup:
            return try self.outcome(of: try await self.useBackup(of: phone, number))
        case .profiles:
            // Going from where one is not is done already.
            return try self.outcome(
                of: try await phone.http("DELETE", "/profiles/\(newUUID())/members/\(phone.id)"))
        case .reports:
            let report: Fields = ["targetId": peer.id, "reason": "spam"]
            return try self.outcome(of: try await phone.ask("report", report), "report_ack")
        case .ringing:
            return try self.outcome(of: try await phone.http("GET", "/calls/ringing"))
        case .peeks: return try self.outcome(of: try await phone.http("GET", "/mail"))
        }
    }

    private func acknowledge(by phone: Phone, to peer: Phone) async throws -> Outcome {
        let ids = (0..<Self.receiptsAtOnce).map { _ in newUUID() }
        phone.client.send(
            texts: ids.map { TestClient.text("delivery_receipt", phone.receipt($0, from: peer.id), requestID: $0) })
        // Refused or not, it is answered behind them.
        try await phone.client.settle()
        var outcome: Outcome = (uses: ids.count, wait: nil)
        for answer in phone.client.frames("error") where ids.contains(answer.requestID ?? "") {
            outcome.uses -= 1
            let wait = try self.outcome(of: answer, "no answer").wait ?? 0
            outcome.wait = max(outcome.wait ?? 0, wait)
        }
        return outcome
    }

    private func useBackup(of phone: Phone, _ number: Int) async throws -> HTTPCall.Answer {
        let path = "/backup/contacts"
        switch number % 3 {
        case 0:
            let backup: Fields = ["nonce": Keys.random(24).base64, "ciphertext": Keys.random(100).base64]
            return try await phone.http("PUT", path, Person.versions.with(backup))
        case 1: return try await phone.http("GET", path)
        default: return try await phone.http("DELETE", path)
        }
    }

    /// - Parameter done: the type of the answer, or the code of the error, that shows that it was done.
    private func outcome(of answer: JSONFrame, _ done: String) throws -> Outcome {
        guard answer.errorCode == "RATE_LIMITED" else {
            guard answer.type == done || answer.errorCode == done else { throw Unexpected(frame: answer) }
            return (uses: 1, wait: nil)
        }
        let wait = try #require(answer.payload["retryAfterMs"]?.integer)
        return (uses: 0, wait: wait)
    }

    private func outcome(of answer: HTTPCall.Answer) throws -> Outcome {
        guard answer.is(429, "RATE_LIMITED") else {
            guard answer.status == 200 else { throw Phone.Refused(answer: answer) }
            return (uses: 1, wait: nil)
        }
        let seconds = try #require(Int64(answer.headers["retry-after"] ?? ""))
        return (uses: 0, wait: 1_000 * seconds)
    }
}

extension Phone {
    fileprivate func newGroup(with other: Phone) async throws -> String {
        let create: Fields = ["title": "Two", "memberIds": [other.id]]
        let event = try await self.ask("group_create", create).expecting("group_event")
        return try #require(event.payload["group"]?["groupId"]?.string)
    }
}
