import Contract
import Foundation
import Synchronization
import TestKit

@testable import WhisperClient

/// Profiles of a server in memory (contract §14.4).
final class FakeProfiles: Sendable {
    private struct Document {
        var version: Int
        /// Nonce and ciphertext, as members of an object.
        var sealed: String
    }

    private struct Profile {
        var joinHash: [UInt8]
        var members: [String]
        /// The writings of each name, the first one first.
        var documents: [String: [Document]] = [:]
    }

    private let profiles = Mutex<[String: Profile]>([:])
    private let refusals = Mutex(0)

    /// The server does otherwise than it should, and counts.
    private struct Moods {
        var hidden = 0
        var bytesMax = Int.max
        var lostRaces = 0
        var looks = 0
    }

    private let moods = Mutex(Moods())

    /// The next answers about a profile show no documents.
    func hideDocuments(_ count: Int) { self.moods.withLock { $0.hidden = count } }

    /// The server has less room.
    func take(bytesMax: Int) { self.moods.withLock { $0.bytesMax = bytesMax } }

    /// Writings over a version that was replaced.
    var lostRaces: Int { self.moods.withLock { $0.lostRaces } }

    /// How often somebody has asked for a profile.
    var looks: Int { self.moods.withLock { $0.looks } }

    func lose(_ name: String, in profile: String) {
        self.profiles.withLock { $0[profile]?.documents[name] = nil }
    }

    /// The server fails at the next writings of documents.
    func refuseWritings(_ count: Int) { self.refusals.withLock { $0 = count } }

    /// - Parameter parts: of the path, behind `profiles`.
    /// - Returns: the answer, and what the other members are told.
    func answer(
        _ method: String, _ parts: [String], _ body: [UInt8] = [], if condition: WriteCondition? = nil,
        of caller: String
    ) -> (HTTPAnswer, news: String?, to: [String]) {
        let json = try? JSON(parsing: body)
        let key = (json?["joinKey"] ?? json?["joinHash"])?.string.flatMap { Base64.decode($0) }
        return self.profiles.withLock { profiles in
            let known = profiles[parts[0]]
            let others = known?.members.filter { $0 != caller } ?? []
            let isMember = known?.members.contains(caller) == true
            var news: String?
            if method == "GET", parts.count == 1 { self.moods.withLock { $0.looks += 1 } }
            switch method {
            case "PUT" where parts.count == 3:
                guard isMember else { return Self.refusal(404) }
                let isRefused = self.refusals.withLock { count in
                    defer { count = max(count - 1, 0) }
                    return count > 0
                }
                guard !isRefused else { return Self.refusal(500) }
                let version = known?.documents[parts[2]]?.last?.version ?? 0
                guard condition == (version == 0 ? .isNew : .matches("\"\(version)\"")), let json else {
                    self.moods.withLock { $0.lostRaces += 1 }
                    return Self.refusal(412)
                }
                guard body.count <= self.moods.withLock({ $0.bytesMax }) else { return Self.refusal(413) }
                let sealed =
                    #""nonce":"\#(json["nonce"]?.string ?? "")","ciphertext":"\#(json["ciphertext"]?.string ?? "")""#
                let document = Document(version: version + 1, sealed: sealed)
                profiles[parts[0]]?.documents[parts[2], default: []].append(document)
                return (
                    Self.ok(#"{"success":true,"version":\#(version + 1),"updatedAt":8}"#),
                    #"{"profileId":"\#(parts[0])","change":"document","name":"\#(parts[2])","version":\#(version + 1)}"#,
                    others
                )
            case "GET" where parts.count == 3:
                guard isMember, let document = known?.documents[parts[2]]?.last else { return Self.refusal(404) }
                return (Self.ok(#"{\#(document.sealed),"version":\#(document.version),"updatedAt":8}"#), nil, [])
            case "PUT":
                guard known == nil || isMember else { return Self.refusal(403) }
                profiles[parts[0]] = Profile(
                    joinHash: key ?? [], members: known?.members ?? [caller], documents: known?.documents ?? [:])
            case "POST":
                guard let known, key.map({ Sodium.sha256($0) }) == known.joinHash else { return Self.refusal(403) }
                if !isMember {
                    profiles[parts[0]]?.members.append(caller)
                    news = Self.membersChanged(parts[0])
                }
            case "DELETE":
                guard isMember else { return Self.refusal(404) }
                profiles[parts[0]]?.members.removeAll { $0 == parts[2] }
                return (Self.ok(#"{"success":true}"#), Self.membersChanged(parts[0]), others.filter { $0 != parts[2] })
            default:
                guard isMember else { return Self.refusal(404) }
            }
            let isHidden =
                method == "GET"
                && self.moods.withLock { moods in
                    defer { moods.hidden = max(moods.hidden - 1, 0) }
                    return moods.hidden > 0
                }
            let members = (profiles[parts[0]]?.members ?? []).map { #"{"whisperId":"\#($0)","joinedAt":7}"# }
            let list = (isHidden ? [:] : known?.documents ?? [:]).compactMap { name, writings in
                writings.last.map { #"{"name":"\#(name)","version":\#($0.version),"updatedAt":8,"sizeBytes":99}"# }
            }
            let documents = method == "GET" ? #","documents":[\#(list.joined(separator: ","))]"# : ""
            let text = #"{"profileId":"\#(parts[0])","members":[\#(members.joined(separator: ","))]\#(documents)}"#
            return (Self.ok(text), news, others)
        }
    }

    /// The server goes back to an earlier writing of a document, and may call it another version.
    func giveOut(_ index: Int, as version: Int, of name: String, in profile: String) {
        self.profiles.withLock { profiles in
            guard var old = profiles[profile]?.documents[name]?[index] else { return }
            old.version = version
            profiles[profile]?.documents[name]?.append(old)
        }
    }

    /// How often a document was written.
    func writings(of name: String, in profile: String) -> Int {
        self.profiles.withLock { $0[profile]?.documents[name]?.count ?? 0 }
    }

    /// The server gives out one document in place of another.
    func copy(_ name: String, as other: String, in profile: String) {
        self.profiles.withLock { profiles in
            let writings = profiles[profile]?.documents[name]
            profiles[profile]?.documents[other] = writings
        }
    }

    private static func membersChanged(_ profile: String) -> String {
        #"{"profileId":"\#(profile)","change":"members"}"#
    }

    private static func ok(_ text: String) -> HTTPAnswer { HTTPAnswer(status: 200, body: Array(text.utf8)) }

    private static func refusal(_ status: Int) -> (HTTPAnswer, news: String?, to: [String]) {
        (HTTPAnswer(status: status, body: []), nil, [])
    }
}
