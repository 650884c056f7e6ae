import Contract
import Foundation
import Synchronization
import TestKit

@testable import WhisperClient

/// Profiles of a server in memory (contract §14.4). Nobody checks versions of documents here.
final class FakeProfiles: Sendable {
    private struct Profile {
        var joinHash: [UInt8]
        var members: [String]
    }

    private let profiles = Mutex<[String: Profile]>([:])

    /// - Parameter parts: of the path, behind `profiles`.
    func answer(
        _ method: String, _ parts: [String], _ body: [UInt8] = [], of caller: String
    ) throws(LinkError) -> HTTPAnswer {
        let key = (try? JSON(parsing: body)).flatMap {
            ($0["joinKey"] ?? $0["joinHash"])?.string.flatMap { Base64.decode($0) }
        }
        return self.profiles.withLock { profiles in
            let known = profiles[parts[0]]
            let isMember = known?.members.contains(caller) == true
            switch method {
            case "PUT":
                guard known == nil || isMember else { return Self.refusal(403) }
                profiles[parts[0]] = Profile(joinHash: key ?? [], members: known?.members ?? [caller])
            case "POST":
                guard let known, key.map({ Sodium.sha256($0) }) == known.joinHash else { return Self.refusal(403) }
                if !isMember { profiles[parts[0]]?.members.append(caller) }
            case "DELETE":
                guard isMember else { return Self.refusal(404) }
                profiles[parts[0]]?.members.removeAll { $0 == parts[2] }
                return HTTPAnswer(status: 200, body: Array(#"{"success":true}"#.utf8))
            default:
                guard isMember else { return Self.refusal(404) }
            }
            let members = (profiles[parts[0]]?.members ?? []).map { #"{"whisperId":"\#($0)","joinedAt":7}"# }
            let document = #"{"name":"whisper","version":3,"updatedAt":8,"sizeBytes":99}"#
            let documents = method == "GET" ? #","documents":[\#(document)]"# : ""
            let text = #"{"profileId":"\#(parts[0])","members":[\#(members.joined(separator: ","))]\#(documents)}"#
            return HTTPAnswer(status: 200, body: Array(text.utf8))
        }
    }

    private static func refusal(_ status: Int) -> HTTPAnswer { HTTPAnswer(status: status, body: []) }
}
