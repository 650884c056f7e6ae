import TestKit
import Testing

extension CalmCluster {
    /// Contract §14.4, through the balancer: what the devices of one person share.
    @Suite struct Profiles {
        @Test func twoDevicesShareAProfile() async throws {
            let (phone, tablet) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let profile = Profile()
            let made = try await phone.makes(profile)
            #expect(made.status == 200 && made.memberIDs == [phone.id])
            #expect(try await tablet.reads(profile).is(404, "NOT_FOUND"))
            let joined = try await tablet.joins(profile)
            #expect(joined.status == 200 && joined.memberIDs == [phone.id, tablet.id])
            let news = try await phone.client.next("profile_changed")
            #expect(news.payload.members == ["profileId": .string(profile.id), "change": .string("members")])

            let document = Profile.document()
            let written = try await tablet.writes(document, as: "whisper", to: profile, ["If-None-Match": "*"])
            #expect(written.status == 200 && written.headers["etag"] == "\"1\"")
            let change = try await phone.client.next("profile_changed").payload
            #expect(change["change"]?.string == "document" && change["name"]?.string == "whisper")
            #expect(change["version"]?.integer == 1)
            let read = try await phone.readsDocument("whisper", of: profile)
            #expect(read.status == 200 && read.headers["etag"] == "\"1\"")
            #expect(Set(read.json.members.keys) == ["nonce", "ciphertext", "version", "updatedAt"])
            #expect(read.json["ciphertext"] == document["ciphertext"]?.json)
            let unchanged = try await phone.readsDocument("whisper", of: profile, ["If-None-Match": "\"1\""])
            #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged.headers["etag"] == "\"1\"")
            let listed = try await phone.reads(profile).json["documents"]?.elements ?? []
            #expect(listed.map { $0["name"]?.string } == ["whisper"] && listed.first?["sizeBytes"]?.integer == 500)
        }

        @Test func ofTwoDevicesThatWriteAtOnceOneLosesTheRace() async throws {
            let devices = [try await Cluster.phone(), try await Cluster.phone()]
            let profile = Profile()
            _ = try await devices[0].makes(profile)
            _ = try await devices[1].joins(profile)
            for round in 0..<20 {
                let condition = round == 0 ? ["If-None-Match": "*"] : ["If-Match": "\"\(round)\""]
                let answers = try await Cluster.each(of: devices) { device in
                    try await device.writes(Profile.document(), as: "listen", to: profile, condition)
                }
                #expect(answers.map(\.status).sorted() == [200, 412])
                #expect(answers.first { $0.status == 200 }?.headers["etag"] == "\"\(round + 1)\"")
            }
        }

        @Test func aDocumentHoldsAQuarterOfAMebibyteAndNoMore() async throws {
            let (phone, friend) = (try await Cluster.phone(), try await Cluster.phone())
            try await phone.text(friend)
            try await friend.text(phone)
            let profile = Profile()
            _ = try await phone.makes(profile)
            let first = ["If-None-Match": "*"]
            let (largest, larger) = (Profile.document(bytes: 262_144), Profile.document(bytes: 262_145))
            #expect(try await phone.writes(larger, as: "user", to: profile, first).is(413, "INVALID_PAYLOAD"))
            #expect(try await phone.writes(largest, as: "user", to: profile, first).status == 200)
            #expect(try await phone.writes(largest, as: "user", to: profile, [:]).is(400, "INVALID_PAYLOAD"))
            let isWhole =
                try await phone.readsDocument("user", of: profile).json["ciphertext"] == largest["ciphertext"]?.json
            #expect(isWhole)
        }

        @Test func whoeverIsTakenOutIsAStranger() async throws {
            let (phone, tablet) = (try await Cluster.phone(), try await Cluster.phone())
            let profile = Profile()
            _ = try await phone.makes(profile)
            _ = try await tablet.joins(profile)
            for _ in 0..<2 {
                let removed = try await phone.removes(tablet, from: profile)
                #expect(removed.status == 200 && removed.json.members == ["success": .bool(true)])
            }
            #expect(try await tablet.reads(profile).is(404, "NOT_FOUND"))
            #expect(try await tablet.readsDocument("user", of: profile).is(404, "NOT_FOUND"))
            #expect(try await tablet.removes(phone, from: profile).is(404, "NOT_FOUND"))
            #expect(try await tablet.makes(profile).is(403, "FORBIDDEN"))
            let wrong = Profile(id: profile.id)
            #expect(try await tablet.joins(wrong).is(403, "FORBIDDEN"))
            #expect(try await tablet.joins(Profile()).is(403, "FORBIDDEN"))
            // The last one's going takes all with it.
            #expect(try await phone.removes(phone, from: profile).status == 200)
            #expect(try await phone.reads(profile).is(404, "NOT_FOUND"))
        }

        @Test func whatHasNotItsFormIsRefused() async throws {
            let phone = try await Cluster.phone()
            let profile = Profile(id: newUUID().uppercased())
            #expect(try await phone.makes(profile).is(400, "INVALID_PAYLOAD"))
            #expect(try await phone.reads(profile).is(400, "INVALID_PAYLOAD"))
            #expect(try await phone.readsDocument("users", of: Profile()).is(400, "INVALID_PAYLOAD"))
        }

        @Test func aBannedIdentityIsToldSo() async throws {
            let phone = try await Cluster.phone()
            let profile = Profile()
            _ = try await phone.makes(profile)
            try await Operators.ban(phone)
            #expect(try await phone.reads(profile).is(403, "USER_BANNED"))
            #expect(try await phone.joins(profile).is(403, "USER_BANNED"))
            try await Operators.unban(phone)
            #expect(try await phone.reads(profile).status == 200)
        }
    }
}

/// A profile, as a device holds it.
private struct Profile {
    var id = newUUID().lowercased()
    var joinKey = Keys.random(32)

    static func document(bytes: Int = 500) -> Fields {
        Person.versions.with(["nonce": Keys.random(12).base64, "ciphertext": Keys.random(bytes).base64])
    }
}

extension Phone {
    fileprivate func makes(_ profile: Profile) async throws -> HTTPCall.Answer {
        let hash = Keys.sha256(profile.joinKey).base64
        return try await self.http("PUT", "/profiles/\(profile.id)", Person.versions.with(["joinHash": hash]))
    }

    fileprivate func joins(_ profile: Profile) async throws -> HTTPCall.Answer {
        let body = Person.versions.with(["joinKey": profile.joinKey.base64])
        return try await self.http("POST", "/profiles/\(profile.id)/members", body)
    }

    fileprivate func reads(_ profile: Profile) async throws -> HTTPCall.Answer {
        try await self.http("GET", "/profiles/\(profile.id)")
    }

    fileprivate func removes(_ other: Phone, from profile: Profile) async throws -> HTTPCall.Answer {
        try await self.http("DELETE", "/profiles/\(profile.id)/members/\(other.id)")
    }

    fileprivate func readsDocument(
        _ name: String, of profile: Profile, _ headers: [String: String] = [:]
    ) async throws -> HTTPCall.Answer {
        try await self.document("GET", name, of: profile, headers)
    }

    fileprivate func writes(
        _ document: Fields, as name: String, to profile: Profile, _ headers: [String: String]
    ) async throws -> HTTPCall.Answer {
        let body = Array(document.json.text.utf8)
        return try await self.document(
            "PUT", name, of: profile, headers.merging(["Content-Type": "application/json"]) { $1 }, body)
    }

    private func document(
        _ method: String, _ name: String, of profile: Profile, _ headers: [String: String], _ body: [UInt8] = []
    ) async throws -> HTTPCall.Answer {
        let headers = headers.merging(["Authorization": "Bearer \(self.token)"]) { $1 }
        let url = Cluster.stack.publicURL + "/profiles/\(profile.id)/documents/\(name)"
        return try await HTTPCall(method, url, headers: headers, body: body).answer()
    }
}

extension HTTPCall.Answer {
    fileprivate var memberIDs: [String?] { (self.json["members"]?.elements ?? []).map { $0["whisperId"]?.string } }
}
