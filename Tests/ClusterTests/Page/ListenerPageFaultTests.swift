import Foundation
import LocalStack
import TestKit
import Testing

/// The listener's page while connections, processes and streams end (contract §14.8, §14.12).
extension PageCluster {
    @Test func aPauseAndTheNextStreamAreFollowed() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await page.says("Alice has not begun yet.")
            try await alice.start()
            try await page.says("Live")
            try await alice.types("one\ntwo")
            try await page.shows(live: "two")

            await alice.cut()
            try await page.reaches("paused")
            #expect(try await page.live == "two")
            #expect(try await page.lines == ["1 one"])
            try await alice.comeBack(gateway: 2)
            try await page.reaches("connected")
            try await alice.types("two\n")
            try await page.shows(lines: ["one", "two"])

            try await alice.stop()
            try await page.reaches("ended")
            #expect(try await page.lines == ["1 one", "2 two"])
            try await alice.start()
            try await page.reaches("connected")
            try await alice.types("another\n")
            try await page.shows(lines: ["another"])
            #expect(try await browser.text(of: "#earlier") == "one\ntwo")
        }
        await alice.end()
    }

    @Test func theListenersGatewayIsKilled() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            let listeners = try await Self.gatewayOfListener()
            // The whisperer is at the other one.
            try await alice.comeBack(gateway: 3 - listeners)
            var lines = ["one", "two"]
            try await alice.types("one\ntwo\nthr")
            try await page.shows(lines: lines)
            try await Self.without(.gateway(listeners)) {
                for line in ["three", "four", "five"] {
                    try await alice.types("\(line)\n")
                    lines.append(line)
                }
                try await alice.types("six")
                try await page.shows(lines: lines, within: .seconds(40))
                try await page.shows(live: "six")
                try await page.reaches("connected")
                try await alice.types("six and a half\nseven")
                try await page.shows(live: "seven")
                lines.append("six and a half")
                #expect(try await page.lines.count == lines.count)
            }
            try await page.shows(lines: lines)
        }
        await alice.end()
    }

    @Test func theWhisperersGatewayIsKilled() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            let listeners = try await Self.gatewayOfListener()
            try await alice.comeBack(gateway: 3 - listeners)
            try await alice.types("one\ntwo\nthr")
            try await page.shows(lines: ["one", "two"])
            try await Self.without(.gateway(3 - listeners)) {
                // Text that is typed while the whisperer is disconnected is not lost.
                try await alice.types("three\nfo")
                try await alice.comeBack(gateway: listeners)
                try await alice.types("four\nfi")
                try await page.shows(lines: ["one", "two", "three", "four"], within: .seconds(40))
                try await page.shows(live: "fi")
                try await page.reaches("connected")
            }
        }
        await alice.end()
    }

    /// Kills a process, and brings it back whatever `body` does.
    private static func without(_ process: StackProcess, _ body: () async throws -> Void) async throws {
        await Cluster.stack.kill(process)
        do {
            try await body()
        } catch {
            try await Cluster.stack.start(process)
            throw error
        }
        try await Cluster.stack.start(process)
    }

    /// Where the only listener is.
    private static func gatewayOfListener() async throws -> Int {
        var found: Int?
        try await waitUntil("a gateway has the listener", within: .seconds(20), every: .milliseconds(200)) {
            for number in [1, 2] {
                let answer = try await HTTPCall("GET", Cluster.stack.opsURL(of: .gateway, number) + "/metrics").answer()
                let line = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
                    .first { $0.hasPrefix("whisper_live_listeners_active") }
                if line?.split(separator: " ").last.flatMap({ Double($0) }) == 1 { found = number }
            }
            return found != nil
        }
        return found!
    }
}
