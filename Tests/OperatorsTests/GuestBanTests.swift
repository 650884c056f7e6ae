import AuthTestKit
import Contract
import Testing

/// Bans of guests (contract §10, §14.3).
@Suite(.serialized, .timeLimit(.minutes(20))) struct GuestBanTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    @Test func aBanEndsTheTokenAndRefusesProofs() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let proof = try await bench.prove(self.alice)
            _ = try await bench.prove(self.bob)
            let id = self.alice.guestID
            let body = #"{"guestId":"\#(id)","reason":"spam"}"#
            for _ in 0..<2 { #expect(try await http.post("/admin/ban", body).text == #"{"success":true}"#) }
            #expect(try await bench.cachedGuest(proof.guest.tokenHash) == nil)
            #expect(try await bench.guest(proof.guest.tokenHash)?.isBanned == true)
            let challenge = try await bench.guestChallenge(self.alice)
            let again = self.alice.guestProof(challenge.id, signing: challenge.bytes)
            #expect(await bench.send("guest_proof", again).refusal == .userBanned)
            #expect(self.endings(of: id, bench) >= 2)
            #expect(self.endings(of: self.bob.guestID, bench) == 0)
            #expect(
                try await bench.sql(
                    "SELECT DISTINCT action FROM auth.audit_events WHERE target = '\(id)' ORDER BY action")
                    == "ban\nloginRefused\nsessionsEnded")
            let bans = try await http.get("/admin/bans", token: HTTPBench.viewerToken).json["bans"] as? [[String: Any]]
            #expect(bans?.map { $0["guestId"] as? String } == ["\(id)"])
            #expect(bans?.first?["whisperId"] == nil)

            for _ in 0..<2 { #expect(try await http.post("/admin/unban", body).text == #"{"success":true}"#) }
            #expect(try await bench.guest(proof.guest.tokenHash)?.isBanned == false)
            _ = try await bench.prove(self.alice)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guest_bans") == "0")
        }
    }

    @Test func aBanWithAnEndEndsAndALostNoticeIsRepeated() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let proof = try await bench.prove(self.alice)
            let end = bench.now + .seconds(60)
            let body = #"{"guestId":"\#(self.alice.guestID)","reason":"spam","expiresAt":\#(end.milliseconds)}"#
            #expect(try await http.post("/admin/ban", body).text == #"{"success":true}"#)
            let before = self.endings(of: self.alice.guestID, bench)
            try await bench.bans.sweep()
            #expect(self.endings(of: self.alice.guestID, bench) > before)
            #expect(try await bench.guest(proof.guest.tokenHash)?.isBanned == true)
            bench.wait(.seconds(60))
            try await bench.bans.sweep()
            #expect(try await bench.guest(proof.guest.tokenHash)?.isBanned == false)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guest_bans") == "0")
        }
    }

    @Test func aBanNamesOneIdentityOrOneGuest() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let (identity, guest) = ("\(self.alice.id())", "\(self.alice.guestID)")
            for path in ["/admin/ban", "/admin/unban"] {
                for ids in [
                    "", #""whisperId":"\#(identity)","guestId":"\#(guest)","#, #""guestId":"\#(identity)","#,
                    #""whisperId":"\#(guest)","#, #""guestId":"\#(guest.uppercased())","#,
                ] {
                    #expect(try await http.post(path, "{\(ids)\"reason\":\"spam\"}").is(400, .invalidPayload), "\(ids)")
                }
                #expect(try await http.post(path, #"{"guestId":"\#(guest)","reason":"x"}"#).is(404, .notFound))
            }
        }
    }

    private func endings(of guest: GuestID, _ bench: AuthBench) -> Int {
        bench.listener.heard.count {
            if case .news(.guestEnded(guest, before: _, why: .banned)) = $0 { true } else { false }
        }
    }
}
