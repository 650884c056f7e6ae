import LocalStack
import Synchronization
import TestKit
import Testing

/// A cluster with the contract's rates, and strangers who do to it whatever a stranger can (contract §13a). One after
/// the other: what one of them takes must not be missing in another's count.
@Suite(.cluster(StrangerBounds.configure), .serialized) struct StrangerCluster {}

/// Bounds of contract §13a as this cluster has them: some of them smaller, so that they are reached in seconds.
enum StrangerBounds {
    /// Waiting for one recipient, from one sender who is not its peer, and from all of them together.
    static let messagesOfOne = 100
    static let messagesOfAll = 250
    static let bytesOfOne = 2 * 1_024 * 1_024
    /// Open reports of one reporter.
    static let openReports = 20
    /// Ciphertext of a backup of somebody without a peer, in bytes.
    static let lonelyBackupBytes = 64 * 1_024
    /// Identities that are not its peers, added to groups by one actor in a day.
    static let additionsADay = 50
    /// Groups in which an identity stands because strangers put it there.
    static let groupsOfStrangers = 100
    static let groupEventBytes = 64 * 1_024
    /// TCP connections of one address at a time, and new ones in a minute.
    static let connectionsOpen = 600
    static let connectionsAMinute = 1_200
    /// Tokens that are nobody's, and failed proofs, of one address in a minute.
    static let failuresAMinute = 60
    static let refreshesAMinute = 10
    /// Kept lines of an identity without a peer, in bytes, and shares of a profile.
    static let lineBytes = 128 * 1_024
    static let shares = 12
    static let typingsAMinute = 120

    @Sendable static func configure(_ stack: inout StackConfiguration) {
        stack.rateLimitScale = 1
        for service in [ServiceName.gateway, .auth, .attachments, .calls] {
            // Bounds are looked at here that would take minutes to reach at these two rates.
            stack.environment[service] = ["RATE_LIMITS": "groups=600,report=100"]
        }
        stack.environment[.calls]!.merge([
            "LIVE_STRANGER_LINE_BYTES_MAX": "\(self.lineBytes)", "LIVE_PROFILE_SHARES_MAX": "\(self.shares)",
        ]) { $1 }
        stack.environment[.router] = [
            "MAILBOX_STRANGER_MESSAGES_MAX": "\(self.messagesOfOne)",
            "MAILBOX_STRANGER_BYTES_MAX": "\(self.bytesOfOne)",
            "MAILBOX_STRANGERS_MESSAGES_MAX": "\(self.messagesOfAll)",
        ]
    }
}

/// Uses of a rate that may be allowed within some time: what may be used at once, and what has come back meanwhile.
struct AllowedUses {
    let perMinute: Int
    private let start = ContinuousClock.now

    init(perMinute: Int) { self.perMinute = perMinute }

    /// Until now. One more, because the last may be on the point of coming back.
    var count: Int { self.perMinute + Int((.now - self.start) * self.perMinute / Duration.seconds(60)) + 1 }
}

/// Addresses of this machine that nobody has used: each has all that a rate allows.
enum FreshAddress {
    private static let last = Mutex(0)

    static func next() -> String {
        let number = self.last.withLock { last in
            last += 1
            return last
        }
        return "127.13.\(number / 250).\(1 + number % 250)"
    }
}

extension Cluster {
    /// Somebody whom nobody knows, who has just logged in from an address of its own.
    static func stranger(_ person: Person = Person(), gateway: Int? = nil) async throws -> Phone {
        try await person.logIn(on: try await self.client(gateway: gateway, from: FreshAddress.next()))
    }

    static func strangers(_ count: Int) async throws -> [Phone] {
        try await self.each(of: Array(0..<count)) { number in try await Cluster.stranger(gateway: 1 + number % 2) }
    }

    /// Two who have written to each other, and are peers from then on (contract §7).
    static func friends() async throws -> (Phone, Phone) {
        let (one, other) = (try await self.stranger(gateway: 1), try await self.stranger(gateway: 2))
        try await one.becomesPeer(of: other)
        return (one, other)
    }
}

extension Phone {
    /// Writes and is written to; neither mailbox keeps anything of it.
    func becomesPeer(of other: Phone) async throws {
        for (sender, recipient) in [(self, other), (other, self)] {
            let id = try await sender.text(recipient)
            _ = try await recipient.received(id)
            recipient.acknowledge(id, from: sender.id)
            _ = try await sender.client.next("message_delivered") { $0.payload["messageId"]?.string == id }
        }
    }

    /// The same session at this gateway, from an address of its own. Nothing is bound yet.
    func elsewhere(gateway: Int) async throws -> Phone {
        self.moved(to: try await Cluster.client(gateway: gateway, from: FreshAddress.next()))
    }

    /// Says all of it in one write, and takes the answers.
    /// - Returns: what each was answered with, in the order of the frames; nil what was not answered before the
    ///   connection ended.
    func asks(atOnce frames: [(type: String, fields: Fields)]) async -> [JSONFrame?] {
        let ids = frames.map { _ in newUUID() }
        self.client.send(
            texts: zip(frames, ids).map { TestClient.text($0.type, self.privileges.with($0.fields), requestID: $1) })
        var answers: [JSONFrame?] = []
        for id in ids { answers.append(try? await self.client.frame("the answer") { $0.requestID == id }) }
        return answers
    }

    /// Sends messages in one write, whatever comes of them.
    func sends(atOnce messages: [Fields]) async -> [JSONFrame?] {
        await self.asks(atOnce: messages.map { ("send_message", $0) })
    }
}

extension JSONFrame {
    /// Whether it was refused because something is full, and not for a moment.
    var isFull: Bool { self.errorCode == "RATE_LIMITED" && self.payload["retryAfterMs"]?.integer ?? 0 >= 60_000 }
}

extension [JSONFrame?] {
    func count(of type: String) -> Int { self.count { $0?.type == type } }
    func count(ofError code: String) -> Int { self.count { $0?.errorCode == code } }
}

extension String {
    /// Has the form of a session token, and is nobody's.
    static var tokenOfNobody: String {
        Keys.random(32).base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
