import Foundation
import Glibc
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// The passphrase behind the door of `whisper app`.
extension AppDoorTests {
    @Test func wrongPassphrasesWaitLongerAndLonger() {
        var tries = PassphraseTries()
        var now = ContinuousClock.now
        for _ in 0..<PassphraseTries.freeMax { #expect(tries.begin(at: now) == nil) }
        for seconds in [30, 60, 120, 240, 480, 900, 900, 900, 900, 900] {
            #expect(tries.begin(at: now) == .seconds(seconds))
            #expect(tries.begin(at: now + .seconds(seconds - 1)) == .seconds(1))
            now += .seconds(seconds)
            #expect(tries.begin(at: now) == nil)
        }
        // The right one is as if nothing had been.
        now += PassphraseTries.waitMax
        #expect(tries.begin(at: now) == nil)
        tries.passed()
        for _ in 0..<PassphraseTries.freeMax { #expect(tries.begin(at: now) == nil) }
        #expect(tries.begin(at: now) == PassphraseTries.firstWait)
    }

    private func post(_ world: World, _ path: String, _ body: String) async throws -> Int {
        try await self.status(world, "POST \(path)", world.headers(isPost: true), body)
    }

    /// Nothing tells about a passphrase more often than the tries allow, and a locked door has no other way in.
    @Test func aPassphraseIsGuessedNowhereElse() async throws {
        let right = #"{"passphrase":"right"}"#
        let world = try await self.world()
        #expect(try await self.post(world, "/session/end", #"{"lock":true}"#) == 409)
        #expect(try await self.post(world, "/seal", right) == 204)
        #expect(world.core.keyKind == .passphrase && !FileManager.default.fileExists(atPath: self.key))
        #expect(try await self.post(world, "/seal", #"{"now":"wrong","passphrase":"mine"}"#) == 403)
        #expect(try await self.post(world, "/session/end", #"{"lock":true}"#) == 204)
        let get = world.headers(isPost: false)
        for (path, status) in [("/files?messageId=x", 423), ("/app", 200)] {
            #expect(try await self.status(world, "GET \(path)", get) == status, "\(path)")
        }
        for (path, body) in [("/rpc", "{}"), ("/qr", #"{"text":"a"}"#), ("/seal", "{}")] {
            #expect(try await self.post(world, path, body) == 423, "\(path)")
        }
        for headers in [self.changed(world.headers(isPost: true), "Cookie")] {
            #expect(try await self.status(world, "POST /session/unlock", headers, right) == 401)
        }
        // Somebody who starts the command anew gets a session, and it is locked.
        let secrets = try #require(world.door.sessions.begin(with: world.door.sessions.launch()))
        let other = World(
            core: world.core, door: world.door, http: world.http, cookie: secrets.cookie, key: secrets.key)
        #expect(try await self.post(other, "/rpc", "{}") == 423)
        for _ in 1..<PassphraseTries.freeMax {
            #expect(try await self.post(other, "/session/unlock", #"{"passphrase":"wrong"}"#) == 403)
        }
        #expect(try await self.post(other, "/session/unlock", right) == 429)
        #expect(try await self.post(world, "/session/unlock", right) == 429)
        await world.http.close()
        await world.core.close()
    }

    private var key: String { self.hosts.folder.path + "/ann/" + Profile.keyName }

    @Test func aStoreWaitsForItsPassphrase() async throws {
        let world = try await self.world()
        try #require(world.core.identity != nil)
        #expect(try await self.post(world, "/seal", "{}") == 204)
        #expect(FileManager.default.fileExists(atPath: self.key))
        #expect(try await self.post(world, "/seal", #"{"passphrase":"right"}"#) == 204)
        #expect(!FileManager.default.fileExists(atPath: self.key))
        await world.http.close()
        await world.core.close()
        // A crash after sealing leaves a key that opens nothing.
        _ = try KeyFile.make(in: self.hosts.folder.path + "/ann")
        #expect(try KeyFile.beside(self.hosts.folder.path + "/ann") == nil)

        let server = self.hosts.server
        let waiting = try Core.waiting(
            CoreConfiguration(folder: self.hosts.folder.path + "/ann", server: "ws://127.0.0.1:2", keyKind: .passphrase)
        ) { _ in server }
        let again = try await self.world(waiting)
        let state = try await self.exchange(again, "GET /app", again.headers(isPost: false))
        #expect(state.contains(#""state":"needsPassphrase""#) && state.contains(#""seal":"passphrase""#), "\(state)")
        #expect(try await self.post(again, "/seal", #"{"passphrase":"right"}"#) == 409)
        #expect(try await self.post(again, "/session/unlock", #"{"passphrase":"wrong"}"#) == 403)
        #expect(waiting.isWaiting)
        #expect(try await self.post(again, "/session/unlock", #"{"passphrase":"right"}"#) == 204)
        #expect(waiting.identity != nil && !waiting.isWaiting)
        #expect(!FileManager.default.fileExists(atPath: self.key))
        await again.http.close()
        await waiting.close()
    }

    /// A window that is open asks again when its stream has ended, and is told of the lock.
    @Test func theLockEndsAStreamThatIsOpen() async throws {
        let world = try await self.world()
        #expect(try await self.post(world, "/seal", #"{"passphrase":"right"}"#) == 204)
        let stream = try await self.opened(world)
        _ = await Blocking.run { stream.read(until: "isKnown") }
        #expect(try await self.post(world, "/session/end", #"{"lock":true}"#) == 204)
        let rest = await Blocking.run { stream.read() }
        #expect(!rest.contains("connection"), "\(rest)")
        Glibc.close(stream.descriptor)
        let get = world.headers(isPost: false)
        #expect(try await self.status(world, "GET /events?consumer=app", get) == 423)
        #expect(try await self.exchange(world, "GET /app", get).contains(#""came":0"#))
        await world.http.close()
        await world.core.close()
    }

    /// Nobody is there whose page could keep the time.
    @Test func aWindowThatWasClosedIsLockedByTheDaemon() async throws {
        let world = try await self.world()
        #expect(try await self.post(world, "/seal", #"{"passphrase":"right"}"#) == 204)
        _ = await world.core.perform(#"host_set {"key":"lock","value":"0"}"#)
        let stream = try await self.opened(world)
        _ = await Blocking.run { stream.read(until: "isKnown") }
        Glibc.close(stream.descriptor)
        let get = world.headers(isPost: false)
        while try await !self.exchange(world, "GET /app", get).contains(#""state":"locked""#) {
            try await Task.sleep(for: .milliseconds(10))
        }
        await world.http.close()
        await world.core.close()
    }

    /// One of them takes place, whole. The other's key file would be erased by the first one.
    @Test func ofTwoChangesOfTheKeyOneIsRefused() async throws {
        let world = try await self.world()
        async let first = self.post(world, "/seal", #"{"passphrase":"right"}"#)
        async let second = self.post(world, "/seal", "{}")
        let answers = try await [first, second]
        #expect(answers.contains(204), "\(answers)")
        // The key of the store is the person's, or it is there.
        #expect([.key, .passphrase].contains(AppSeal.kind(of: world.core)), "\(answers)")
        await world.http.close()
        await world.core.close()
    }
}
