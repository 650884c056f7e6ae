import TestKit
import Testing

extension CalmCluster {
    /// Contract §8, through the balancer: one backup of the contacts for each identity, which the server cannot read.
    @Suite struct ContactBackups {
        @Test func aBackupIsWrittenReadAndRemoved() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            #expect(try await alice.readsBackup().is(404, "NOT_FOUND"))
            let before = nowMilliseconds()
            let backup = Self.backup()
            let written = try await alice.writes(backup)
            #expect(written.status == 200 && written.json["success"] == .bool(true))
            #expect(try #require(written.json["updatedAt"]?.integer) >= before - 5_000)
            let tag = try #require(written.headers["etag"])

            let read = try await alice.readsBackup()
            #expect(read.status == 200 && read.headers["etag"] == tag)
            #expect(Set(read.json.members.keys) == ["nonce", "ciphertext", "updatedAt"])
            #expect(
                read.json["nonce"] == backup["nonce"]?.json && read.json["ciphertext"] == backup["ciphertext"]?.json)
            #expect(read.json["updatedAt"] == written.json["updatedAt"])
            // It is nobody else's.
            #expect(try await bob.readsBackup().is(404, "NOT_FOUND"))
            // Another device of the same person has it.
            let later = try await Cluster.phone(alice.person.onAnotherDevice())
            #expect(try await later.readsBackup().json == read.json)

            for _ in 0..<2 {
                let removed = try await later.removesBackup()
                #expect(removed.status == 200 && removed.json.members == ["success": .bool(true)])
            }
            #expect(try await later.readsBackup().is(404, "NOT_FOUND"))
        }

        @Test func whoeverHasNotSeenTheLatestLosesTheRace() async throws {
            let alice = try await Cluster.phone()
            // There is nothing yet that it could be.
            #expect(try await alice.writes(Self.backup(), ifMatch: "*").is(412, "INVALID_PAYLOAD"))
            let first = try #require(try await alice.writes(Self.backup()).headers["etag"])
            let latest = Self.backup()
            let second = try await alice.writes(latest, ifMatch: first)
            #expect(second.status == 200 && second.headers["etag"] != first)
            for tag in [first, "\"nonsense\"", "W/\(first)"] {
                #expect(try await alice.writes(Self.backup(), ifMatch: tag).is(412, "INVALID_PAYLOAD"), "\(tag)")
            }
            let read = try await alice.readsBackup()
            #expect(read.headers["etag"] == second.headers["etag"])
            #expect(read.json["ciphertext"] == latest["ciphertext"]?.json)
            // Any version (`*`), the current tag, and no condition.
            let third = try await alice.writes(Self.backup(), ifMatch: "*")
            #expect(third.status == 200)
            #expect(try await alice.writes(Self.backup(), ifMatch: third.headers["etag"]).status == 200)
            #expect(try await alice.writes(Self.backup()).status == 200)
        }

        /// Two writers have read the same version; one of them succeeds.
        @Test func ofTwoWritersAtOnceOneLosesTheRace() async throws {
            let alice = try await Cluster.phone()
            let tag = try #require(try await alice.writes(Self.backup()).headers["etag"])
            let answers = try await Cluster.each(of: [Self.backup(), Self.backup()]) { backup in
                try await alice.writes(backup, ifMatch: tag)
            }
            #expect(answers.map(\.status).sorted() == [200, 412])
            let winner = try #require(answers.first { $0.status == 200 })
            #expect(try await alice.readsBackup().headers["etag"] == winner.headers["etag"])
        }

        @Test func aBackupHoldsOneMebibyteAndNoMore() async throws {
            let alice = try await Cluster.phone()
            let largest = Self.backup(bytes: 1_048_576)
            // An identity that has not exchanged messages with another may store less.
            let bob = try await Cluster.phone()
            #expect(try await alice.writes(Self.backup(bytes: 65_537)).is(413, "INVALID_PAYLOAD"))
            #expect(try await alice.writes(Self.backup(bytes: 65_536)).status == 200)
            try await alice.text(bob)
            #expect(try await alice.writes(largest).is(413, "INVALID_PAYLOAD"))
            try await bob.text(alice)
            let written = try await alice.writes(largest)
            #expect(written.status == 200)
            #expect(try await alice.writes(Self.backup(bytes: 1_048_577)).is(413, "INVALID_PAYLOAD"))
            let read = try await alice.readsBackup()
            #expect(read.headers["etag"] == written.headers["etag"])
            let isWhole = read.json["ciphertext"] == largest["ciphertext"]?.json
            #expect(isWhole)
        }

        @Test func whatIsNoBackupIsRefused() async throws {
            let alice = try await Cluster.phone()
            let backup = Self.backup()
            for wrong in [
                [:], backup.without("nonce"), backup.without("ciphertext"), backup.without("cryptoVersion"),
                backup.without("protocolVersion"), backup.with(["cryptoVersion": 2]),
                backup.with(["protocolVersion": 2]),
                backup.with(["nonce": Keys.random(23).base64]), backup.with(["ciphertext": ""]),
                backup.with(["ciphertext": "?"]),
            ] as [Fields] {
                #expect(try await alice.writes(wrong).is(400, "INVALID_PAYLOAD"), "\(wrong.json.text)")
            }
            #expect(try await alice.readsBackup().is(404, "NOT_FOUND"))
        }

        // MARK: Who may

        @Test(arguments: ["", "x", String(repeating: "A", count: 43)]) func withoutASessionThereIsNoBackup(
            token: String
        ) async throws {
            var nobody = try await Cluster.phone()
            nobody.token = token
            for answer in try await self.everything(by: nobody) { #expect(answer.is(401, "NOT_REGISTERED")) }
        }

        @Test func aBannedIdentityIsToldSo() async throws {
            let alice = try await Cluster.phone()
            let tag = try #require(try await alice.writes(Self.backup()).headers["etag"])
            try await Operators.ban(alice)
            for answer in try await self.everything(by: alice) { #expect(answer.is(403, "USER_BANNED")) }
            try await Operators.unban(alice)
            #expect(try await alice.readsBackup().headers["etag"] == tag)
        }

        @Test func anOlderSessionDoesNothingMore() async throws {
            let old = try await Cluster.phone()
            let tag = try #require(try await old.writes(Self.backup()).headers["etag"])
            let new = try await Cluster.phone(old.person.onAnotherDevice())
            for answer in try await self.everything(by: old) { #expect(answer.is(401, "NOT_REGISTERED")) }
            #expect(try await new.readsBackup().headers["etag"] == tag)
            #expect(try await new.writes(Self.backup(), ifMatch: tag).status == 200)
        }

        /// The newer login commits when the older session has been found to be live, and has written nothing yet.
        @Test func aWriteThatMeetsANewerLoginIsRefused() async throws {
            let old = try await Cluster.phone()
            let tag = try #require(try await old.writes(Self.backup()).headers["etag"])
            try await Cluster.collide(
                with:
                    "UPDATE auth.identities SET epoch = epoch + 1 WHERE auth.whisper_id_text(whisper_id) = '\(old.id)'"
            ) {
                let answer = try await old.writes(Self.backup())
                #expect(answer.is(401, "NOT_REGISTERED"))
            }
            let new = try await Cluster.phone(old.person.onAnotherDevice())
            #expect(try await new.readsBackup().headers["etag"] == tag)
        }

        private func everything(by phone: Phone) async throws -> [HTTPCall.Answer] {
            [try await phone.writes(Self.backup()), try await phone.removesBackup(), try await phone.readsBackup()]
        }

        private static func backup(bytes: Int = 500) -> Fields {
            Person.versions.with(["nonce": Keys.random(24).base64, "ciphertext": Keys.random(bytes).base64])
        }
    }
}

/// A person's requests about the backup.
extension Phone {
    private static let backupPath = "/backup/contacts"

    fileprivate func readsBackup() async throws -> HTTPCall.Answer { try await self.http("GET", Self.backupPath) }
    fileprivate func removesBackup() async throws -> HTTPCall.Answer { try await self.http("DELETE", Self.backupPath) }

    fileprivate func writes(_ backup: Fields, ifMatch: String? = nil) async throws -> HTTPCall.Answer {
        var headers = ["Authorization": "Bearer \(self.token)", "Content-Type": "application/json"]
        headers["If-Match"] = ifMatch
        let url = Cluster.stack.publicURL + Self.backupPath
        return try await HTTPCall("PUT", url, headers: headers, body: Array(backup.json.text.utf8)).answer()
    }
}
