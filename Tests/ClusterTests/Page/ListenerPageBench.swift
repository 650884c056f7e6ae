import Foundation
import LocalStack
import TestKit
import Testing

extension PageCluster {
    /// Figures, when asked for: `WHISPER_MEASURE=1`. L10 of live.md §17.1.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WHISPER_MEASURE"] != nil))
    func howSoonALetterIsPainted() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.types("begin")
            try await page.shows(live: "begin")
            // A frame's callbacks run before it is painted. A message posted there is handled after the painting.
            _ = try await browser.value(
                of: """
                    window.painted = {};
                    const live = document.querySelector('#live');
                    new MutationObserver(() => {
                        const text = live.textContent;
                        requestAnimationFrame(() => {
                            const { port1, port2 } = new MessageChannel();
                            port1.onmessage = () => { window.painted[text] ??= Date.now(); };
                            port2.postMessage(null);
                        });
                    }).observe(live, { childList: true, characterData: true, subtree: true });
                    """)
            let quiet = try await Self.cpu(of: browser, for: Self.interval * Self.packets)
            var typed: [String: Int64] = [:]
            let start = ContinuousClock.now
            var busy = Duration.zero
            let before = await browser.cpu()
            for number in 0..<Self.packets {
                try await Task.sleep(until: start + Self.interval * number, clock: .continuous)
                let text = "letter \(number)"
                typed[text] = nowMilliseconds()
                try await alice.types(text)
            }
            try await page.shows(live: "letter \(Self.packets - 1)")
            busy = await browser.cpu() - before
            let painted = try await browser.value(of: "return window.painted")
            let times = typed.compactMap { text, time in painted[text]?.integer.map { $0 - time } }.sorted()
            #expect(times.count == Self.packets, "some were never painted")
            let seconds = Self.interval * Self.packets
            print(
                """
                typed until painted, ms: p50 \(times[times.count / 2]), p99 \(times[times.count * 99 / 100]), \
                max \(times[times.count - 1]); browser: \(busy / seconds * 100) % of a core, \
                \(quiet / seconds * 100) % while nobody types
                """)
        }
        await alice.end()
    }

    private static let packets = 200
    /// Eight packets a second.
    private static let interval = Duration.milliseconds(125)

    private static func cpu(of browser: Browser, for time: Duration) async throws -> Duration {
        let before = await browser.cpu()
        try await Task.sleep(for: time)
        return await browser.cpu() - before
    }
}
