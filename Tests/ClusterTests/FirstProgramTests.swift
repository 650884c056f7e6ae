import Contract
import Foundation
import LocalStack
import TestKit
import Testing
import WhisperCore

extension CalmCluster {
    /// The programs of docs/first-app.md and docs/first-bot.md, as strangers copy them.
    @Suite struct FirstPrograms {
        private static let server = "ws://127.0.0.1:\(Cluster.stack.ports.public)"
        private static let tools = CoreLibraryTests.root + "/.build/wheel-tools"

        /// Somebody for the program to talk to.
        private func friend(in folder: TemporaryFolder) async throws -> Core {
            let core = try Core.open(CoreConfiguration(folder: folder.path + "/friend", server: Self.server))
            #expect(core.identity == nil)
            #expect(try await core.createIdentity().count == 12)
            try await core.connect()
            return core
        }

        @Test func theFirstAppSendsItsMessage() async throws {
            let page = try ExecutedPage(CoreLibraryTests.root + "/docs/first-app.md")
            let source = CoreLibraryTests.root + "/TestSupport/FirstApp/main.swift"
            #expect(try page.file("Sources/App/main.swift") == String(contentsOfFile: source, encoding: .utf8))
            let folder = try TemporaryFolder(named: "app")
            defer { folder.remove() }
            let friend = try await self.friend(in: folder)
            var messages = try friend.messages().makeAsyncIterator()
            let id = try #require(friend.identity?.whisperID)
            let app = Command(StackConfiguration().programs + "/FirstApp", [Self.server, id], folder: folder.path)
            #expect(try await app.output(name: "FirstApp").hasPrefix("Write these down: "))
            #expect(await messages.next()?.text == "Hello from an app")
            // The second run has an identity and a contact.
            #expect(try await app.output(name: "FirstApp") == "")
            #expect(await messages.next()?.text == "Hello from an app")
            await friend.close()
        }

        /// The wheel, in a fresh environment that has no index of packages.
        @Test(
            .enabled(
                if: FileManager.default.fileExists(atPath: tools + "/installed.lock"),
                "needs deploy/install-python-tools.sh"))
        func theFirstBotAnswersAlsoAfterItWasKilled() async throws {
            let page = try ExecutedPage(CoreLibraryTests.root + "/docs/first-bot.md")
            #expect(page.lines <= ExecutedPage.linesMax && page.commands.count == 3)
            let folder = try TemporaryFolder(named: "bot")
            defer { folder.remove() }
            _ = try await Command(
                CoreLibraryTests.root + "/deploy/make-wheel", [CoreLibraryTests.library, folder.path]
            ).output(name: "make-wheel")
            try page.write(to: folder.path)
            // The wheel of these tests has the library of a debug build, and is for this machine alone.
            let install = try await self.run(page.commands[0].replacing("manylinux_2_35", with: "linux"), in: folder)
            #expect(install.contains("whispercore \(Release.version)\nOpenSSL 3."), "\(install)")
            let new = try await self.run(
                page.commands[1].replacing("wss://chat.example.org", with: Self.server), in: folder)
            let bot = try #require(new.split(separator: "\n").last.map(String.init))
            let words = try FileManager.default.attributesOfItem(atPath: folder.path + "/words.txt")
            #expect(words[.posixPermissions] as? Int == 0o600)

            let friend = try await self.friend(in: folder)
            var replies = try friend.messages().makeAsyncIterator()
            let contact = try await friend.addContact(bot)
            var process = try await self.start(page.commands[2], in: folder)
            try await friend.send("one", to: contact)
            #expect(await replies.next()?.text == "one")
            _ = await process.kill()
            try await friend.send("two", to: contact)
            try await friend.settled()
            process = try await self.start(page.commands[2], in: folder)
            try await friend.send("three", to: contact)
            // In order, and none of them twice.
            #expect(await replies.next()?.text == "two")
            #expect(await replies.next()?.text == "three")
            _ = await process.kill()
            await friend.close()
        }

        /// As it stands in docs/embedding.md, in a checkout, with a new folder.
        @Test func theExampleOfEmbeddingRunsAsItIsCopied() async throws {
            let folder = try TemporaryFolder(named: "embedded")
            defer { folder.remove() }
            try ExecutedPage(CoreLibraryTests.root + "/docs/embedding.md").write(to: folder.path) {
                $0.replacing("/home/ann/.chat", with: folder.path + "/me")
                    .replacing("wss://chat.example", with: Self.server)
            }
            let log = folder.path + "/log"
            let process = try await ChildProcess.start(
                Command(
                    "/usr/bin/python3", ["-u", "embedded.py"],
                    environment: [
                        "PYTHONPATH": CoreLibraryTests.root + "/Clients/Python",
                        "WHISPERCORE_LIBRARY": CoreLibraryTests.library,
                    ], folder: folder.path, log: log), name: "embedded")
            func said() throws -> String { try String(contentsOfFile: log, encoding: .utf8) }
            try await waitUntil("the program is online", within: readyTimeout) { try said().contains("I am WSP-") }
            #expect(try said().contains("Write these down: "))
            let id = try #require(try said().firstMatch(of: /WSP-....-....-..../)).output
            let friend = try await self.friend(in: folder)
            var replies = try friend.messages().makeAsyncIterator()
            try await friend.send("Hello", to: try await friend.addContact(String(id)))
            #expect(await replies.next()?.text == "Hello")
            _ = await process.kill()
            await friend.close()
        }

        private func run(_ commands: String, in folder: TemporaryFolder) async throws -> String {
            try await Command(
                "/bin/sh", ["-euc", commands], environment: ["PIP_NO_INDEX": "1"], folder: folder.path
            ).output(name: "page")
        }

        /// A line that stays.
        private func start(_ command: String, in folder: TemporaryFolder) async throws -> ChildProcess {
            let line = "exec " + command.trimmingCharacters(in: .whitespacesAndNewlines)
            return try await ChildProcess.start(
                Command("/bin/sh", ["-euc", line], folder: folder.path, log: folder.path + "/bot.log"), name: "bot")
        }
    }
}
