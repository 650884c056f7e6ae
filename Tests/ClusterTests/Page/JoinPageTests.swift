import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// The page of rooms: browsers that talk with each other (contract §15, §16).
extension PageCluster {
    /// By a code, over the relay alone: no candidate of either browser names its address.
    @Test func twoMeetByCodeAndTalkOverTheRelay() async throws {
        try await JoinPage.windows(2, at: "/join?relay") { pages in
            let (alice, bob) = (pages[0], pages[1])
            let room = try await alice.create()
            #expect(room.code.wholeMatch(of: #/\d{6}/#) != nil)
            try await alice.says("Nobody else is here yet.")
            try await bob.join(code: room.code)
            for page in pages { try await page.reaches("connected") }
            try await alice.say("Hello?")
            try await bob.shows(messages: ["Person 1: Hello?"])
            // A later page answers a message.
            _ = try await bob.browser.value(
                of: """
                    const { said } = document.querySelector("#messages [data-said]").dataset, { send } = RTCDataChannel.prototype;
                    RTCDataChannel.prototype.send = function (text) {
                      return send.call(this, text.replace('"t":"say"', `"t":"say","re":"${said}"`));
                    };
                    """)
            let hostile = #"<img src=x onerror="document.title='owned'">"#
            try await bob.say(hostile)
            try await alice.shows(messages: ["You: Hello?", "Person 2: \(hostile)"])
            #expect(try await alice.browser.count("#messages img") == 0)
            #expect(try await alice.content(of: "#messages q") == "Hello?")
            // Both see the same number, and the code opens nothing more.
            let numbers = (try await alice.numbers["2"], try await bob.numbers["1"])
            #expect(numbers.0?.wholeMatch(of: #/([A-Z2-7]{4} ){5}[A-Z2-7]{4}/#) != nil && numbers.0 == numbers.1)
            #expect(try await alice.browser.isHidden("#invitation"))
            for page in pages {
                let ways = try await page.browser.asyncValue(
                    of: """
                        const reports = [...(await window.made.at(-1).getStats()).values()];
                        return reports.filter(({ type }) => type.endsWith("-candidate")).map(({ type, candidateType }) => `${type} ${candidateType}`);
                        """
                ).elements.compactMap(\.string)
                #expect(Set(ways) == ["local-candidate relay", "remote-candidate relay"])
                #expect(try await page.browser.complaints() == [])
            }
            // A participant who leaves goes at once, and nothing of the room stays.
            try await bob.browser.click("#leave")
            try await alice.reaches("waiting")
            try await alice.says("Person 2 left. You're alone here.")
            #expect(try await alice.content(of: "#alone") == "You're alone here.")
            try await bob.reaches("entry")
            #expect(try await bob.messages == [])
            #expect(try await bob.browser.address.hasSuffix("/join?relay"))
            #expect(try await alice.messages.count == 2)
        }
    }

    /// The room ends with its last seat, and no keys of the browser are left.
    @Test func whoeverIsForgottenOnThePageOfRoomsHasNoKeysThere() async throws {
        try await JoinPage.windows(1) { pages in
            let (page, browser) = (pages[0], pages[0].browser)
            let room = try #require(JoinPage.roomID(in: try await page.create().link))
            let guest = try await Cluster.database(
                "SELECT participant FROM calls.room_participants WHERE room_id = '\(room)' AND is_guest")
            #expect(!guest.isEmpty)
            try await browser.click("#leave")
            try await page.reaches("entry")
            try await browser.click("#forget")
            try await page.reaches("forgotten")
            try await page.says("You're forgotten")
            #expect(
                try await Cluster.database("SELECT count(*) FROM auth.guests WHERE guest_id = '\(guest)'") == "0")
            let keys = try await browser.asyncValue(
                of: """
                    const open = (request) => new Promise((done) => (request.onsuccess = () => done(request.result)));
                    const database = await open(indexedDB.open("whisper", 1));
                    return open(database.transaction("keys").objectStore("keys").getAllKeys());
                    """)
            #expect(keys.elements.isEmpty)
            #expect(try await browser.complaints() == [])
        }
    }

    /// Three in a mesh. The link vouches for those who came by it. The code vouches for nobody.
    @Test func aLinkVouchesForWhoeverHasIt() async throws {
        try await JoinPage.windows(3) { pages in
            let (alice, bob, carol) = (pages[0], pages[1], pages[2])
            let room = try await alice.create(for: 3)
            #expect(room.link.contains("/join/") && room.link.split(separator: "#").last?.count == 22)
            try await bob.follow(room.link)
            for page in [alice, bob] { try await page.isConnected(with: 1) }
            try await carol.join(code: room.code)
            for page in pages { try await page.isConnected(with: 2) }
            for (page, expected) in [
                (alice, ["2": "came by the link", "3": "compare this code"]),
                (bob, ["1": "came by the link", "3": "compare this code"]),
                (carol, ["1": "compare this code", "2": "compare this code"]),
            ] {
                for (seat, words) in expected {
                    #expect(try await page.content(of: "#people [data-seat=\"\(seat)\"] small") == words)
                }
            }
            try await carol.say("to both")
            for page in [alice, bob] { try await page.shows(messages: ["Person 3: to both"]) }
            // Nobody else has a place.
            try await Browser.open { browser in
                let dave = try await JoinPage.open(room.link, in: browser)
                try await dave.reaches("entry")
                #expect(try await browser.isHidden("#code"))
                try await browser.click("#join")
                try await dave.reaches("full")
                try await dave.says("This room takes nobody else.")
            }
        }
    }

    /// A wrong code, a wrong PIN, a link to nothing and one with another secret: the same answer.
    @Test func whatOpensNothingGetsOneAnswer() async throws {
        let phone = try await Cluster.phone()
        let keys = phone.person.keys
        let room = Room()
        let made = try await phone.ask("room_create", room.create(keys).with(["pin": "4711"])).expecting("room_joined")
        let code = try #require(made.payload["code"]?.string)
        try await Browser.open { browser in
            let page = try await JoinPage.open(in: browser)
            try await page.reaches("entry")
            var said: [String] = []
            func isRefused() async throws {
                try await page.reaches("notfound")
                said.append(try await page.status)
            }
            try await page.join(code: code == "111111" ? "222222" : "111111")
            try await isRefused()
            for pin in ["1234", nil] {
                try await browser.reload()
                try await page.reaches("entry")
                try await page.join(code: code, pin: pin)
                try await isRefused()
            }
            let secret = "AAECAwQFBgcICQoLDA0ODw"
            for id in [room.id, newUUID()] {
                try await page.follow("\(Cluster.stack.publicURL)/join/\(id)#\(secret)")
                try await isRefused()
            }
            // Links that are not whole.
            for fragment in ["", "#", "#\(secret.dropLast())"] {
                try await browser.go(to: "about:blank")
                try await browser.go(to: "\(Cluster.stack.publicURL)/join/\(room.id)\(fragment)")
                try await isRefused()
            }
            #expect(said.count == 8)
            #expect(
                Set(said[..<3]) == ["That code doesn't open a room. It may be mistyped, already used or expired."]
                    && Set(said[3...]) == ["This link is incomplete or has expired. Ask for a new one."])
            // The right PIN still opens, from the same page.
            try await browser.go(to: "\(Cluster.stack.publicURL)/join")
            try await page.reaches("entry")
            try await page.join(code: code, pin: "4711")
            try await page.says("Connecting to the others…")
            try await phone.ask("room_close", room.named).expecting("room_left")
            try await page.reaches("ended")
            try await page.says("This room has ended.")
        }
    }

    /// Voice and video both ways, by a button, and away again.
    @Test func theySeeAndHearEachOther() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await bob.join(code: try await alice.create().code)
            for page in pages { try await page.reaches("connected") }
            for page in pages { #expect(try await page.browser.count("video") == 0) }
            // Both at once: their offers may cross.
            for page in pages { try await page.browser.click("#media") }
            for page in pages { for seat in [1, 2] { try await page.sees(seat) } }
            #expect(
                try await alice.browser.value(of: "return document.querySelector('[data-seat=\"1\"]').muted")
                    == .bool(true))
            try await Self.picture("video", alice.browser)
            // Muted, she is seen and not heard.
            let sent = """
                return document.querySelector('[data-seat="1"]').srcObject.getTracks()
                    .map(({ kind, enabled, readyState }) => `${kind} ${enabled} ${readyState}`).sort();
                """
            for isHeard in [false, true] {
                try await alice.browser.click("#mute")
                #expect(
                    try await alice.browser.value(of: sent).elements.compactMap(\.string) == [
                        "audio \(isHeard) live", "video true live",
                    ])
                try await bob.sees(1)
            }
            try await alice.say("I can see you")
            try await bob.shows(messages: ["Person 1: I can see you"])
            try await bob.browser.click("#media")
            try await alice.shows("no video of seat 2") {
                try await alice.browser.count("#videos [data-seat='2']") == 0
            }
            try await alice.sees(1)
            // Voice alone.
            try await bob.browser.click("#voice")
            try await alice.shows("a voice") {
                try await alice.browser.value(
                    of:
                        "const stream = document.querySelector('#videos [data-seat=\"2\"]')?.srcObject; return stream?.getTracks().map(({ kind }) => kind).join()"
                ).string == "audio"
            }
            // With another device a muted microphone stays muted.
            try await bob.browser.click("#mute")
            try await bob.browser.click("#media")
            try await alice.sees(2)
            #expect(
                try await bob.browser.value(of: sent.replacing("\"1\"", with: "\"2\"")).elements.compactMap(\.string)
                    == ["audio false live", "video true live"])
            #expect(
                try await bob.browser.value(of: "return document.querySelector('#mute').ariaPressed")
                    == .string("true"))
            for page in pages { #expect(try await page.browser.complaints() == []) }
        }
    }

    /// Without any gateway, those who are connected talk on. Signalling comes back with the gateways: a camera needs it.
    @Test func theyTalkOnWhileTheGatewaysAreAway() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await bob.join(code: try await alice.create().code)
            for page in pages { try await page.reaches("connected") }
            for number in [1, 2] { await Cluster.stack.kill(.gateway(number)) }
            do {
                for page in pages { try await page.says("Can't reach the server", within: .seconds(60)) }
                try await alice.say("still there?")
                try await bob.say("yes")
                try await alice.shows(messages: ["You: still there?", "Person 2: yes"])
                try await bob.browser.click("#media")
            } catch {
                for number in [1, 2] { try await Cluster.stack.start(.gateway(number)) }
                throw error
            }
            for number in [1, 2] { try await Cluster.stack.start(.gateway(number)) }
            for page in pages {
                try await page.shows("the server is back", within: .seconds(60)) {
                    try await page.status == "Connected."
                }
            }
            try await alice.sees(2)
            try await alice.say("I see you")
            try await bob.shows(messages: ["Person 1: still there?", "You: yes", "Person 1: I see you"])
            #expect(
                try await alice.browser.value(of: "return document.querySelector('main').dataset.state").string
                    == "connected")
        }
    }

    /// Either side loads its page again, and comes back to its seat. Another tab of the same browser takes it from nobody.
    @Test func aSeatIsKept() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await bob.join(code: try await alice.create().code)
            for page in pages { try await page.reaches("connected") }
            let number = try await alice.numbers["2"]
            for page in [bob, alice] {
                try await page.browser.reload()
                for page in pages { try await page.isConnected(with: 1) }
                #expect(try await alice.numbers == ["2": number])
                try await bob.say("it is me")
                try await alice.shows("the message") { try await alice.messages.last == "Person 2: it is me" }
            }
            let first = try await bob.browser.tab
            let second = try await bob.browser.openTab()
            _ = try await JoinPage.open(in: bob.browser)
            try await bob.reaches("entry")
            try await bob.browser.click("#create")
            try await bob.says("You are in another room in another tab. Leave it there first.")
            try await bob.browser.turn(to: first)
            #expect(try await bob.state == "connected")
            try await bob.say("here all the time")
            try await alice.shows("the message") { try await alice.messages.last == "Person 2: here all the time" }
            // Once the seat is given up, the other tab may have one.
            try await bob.browser.click("#leave")
            try await bob.reaches("entry")
            try await bob.browser.turn(to: second)
            try await bob.browser.click("#create")
            try await bob.reaches("waiting")
        }
    }

    /// The link stays in the address of a guest who leaves.
    @Test func whoLeavesMayComeBackByTheLink() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            let link = try await alice.create().link
            try await bob.follow(link)
            for page in pages { try await page.reaches("connected") }
            try await bob.browser.click("#leave")
            try await bob.reaches("entry")
            try await alice.says("Person 2 left. You're alone here.")
            #expect(try await bob.browser.address == link)
            try await bob.browser.click("#join")
            for page in pages { try await page.isConnected(with: 1) }
            try await alice.shows("Person 3") { try await alice.browser.count("#people [data-seat='3']") == 1 }
        }
    }

    /// The right code, or the link, in a second tab: it is not a wrong one, and the first tab keeps its seat.
    @Test func aSecondTabIsToldThatOneIsIn() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            let room = try await alice.create(for: 3)
            try await bob.join(code: room.code)
            for page in pages { try await page.isConnected(with: 1) }
            for page in pages {
                let first = try await page.browser.tab
                _ = try await page.browser.openTab()
                _ = try await JoinPage.open(in: page.browser)
                try await page.reaches("entry")
                try await page.join(code: room.code)
                try await page.says("You are already in this room in another tab.")
                try await page.follow(room.link)
                try await page.says("You are already in this room in another tab.")
                try await page.browser.turn(to: first)
                #expect(try await page.state == "connected")
            }
            try await bob.say("still here")
            try await alice.shows(messages: ["Person 2: still here"])
        }
    }

    /// A server that says that we, or the room's creator, came by the code would have us leave the link's secret out.
    @Test func theServersWordTurnsNoSecretOff() async throws {
        let liar = """
            const seen = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data").get;
            Object.defineProperty(MessageEvent.prototype, "data", { get() {
                const data = seen.call(this);
                return typeof data === "string" ? data.replaceAll(/"via":"(creator|link)"/g, '"via":"code"') : data;
            } });
            """
        try await JoinPage.windows(1) { pages in
            let alice = pages[0]
            let link = try await alice.create().link
            try await Browser.open { browser in
                try await browser.runBeforePages(liar)
                let bob = try await JoinPage.open(link, in: browser)
                try await bob.reaches("entry")
                try await browser.click("#join")
                for page in [alice, bob] { try await page.isConnected(with: 1) }
                #expect(try await bob.content(of: "#people [data-seat=\"1\"] small") == "came by the link")
            }
        }
    }

    /// A busy machine's database leaves the first request of each page without an answer: the guest stays the same.
    @Test func aSeatIsKeptThoughTheDatabaseIsSlow() async throws {
        try await JoinPage.windows(1) { pages in
            let alice = pages[0]
            try await Browser.open { browser in
                try await browser.runBeforePages(
                    """
                    const open = IDBFactory.prototype.open;
                    let asked = 0;
                    IDBFactory.prototype.open = function (...values) {
                        asked += 1;
                        return asked === 1 ? {} : open.apply(this, values);
                    };
                    """)
                let bob = try await JoinPage.open(in: browser)
                try await bob.reaches("entry")
                try await bob.join(code: try await alice.create().code)
                for page in [alice, bob] { try await page.isConnected(with: 1) }
                let number = try await alice.numbers
                try await browser.reload()
                for page in [bob, alice] { try await page.isConnected(with: 1) }
                #expect(try await alice.numbers == number)
            }
        }
    }

    /// A guest hosts three rooms at most (contract §15.1). Whoever starts another has left those before.
    @Test func whoStartsAFourthRoomIsIn() async throws {
        try await JoinPage.windows(1) { pages in
            let page = pages[0]
            var links: Set<String> = []
            for _ in 0...RoomLimits.hostedByGuestMax {
                links.insert(try await page.create().link)
                try await page.browser.go(to: "about:blank")
                try await page.browser.go(to: Cluster.stack.publicURL + "/join")
                try await page.reaches("entry")
            }
            #expect(links.count == RoomLimits.hostedByGuestMax + 1)
        }
    }

    /// The room goes while nobody can tell its participants.
    @Test func whoeverMissedTheEndHearsOfIt() async throws {
        try await JoinPage.windows(1) { pages in
            let room = try #require(JoinPage.roomID(in: try await pages[0].create().link))
            try await Cluster.endUntold(room: room)
            try await pages[0].reaches("ended", within: .seconds(60))
        }
    }

    /// Somebody leaves the page while it makes its database, and comes again: no later page waits for the first.
    @Test func aPageThatIsLeftAtOnceHoldsNothingUp() async throws {
        try await Browser.open { browser in
            try await browser.runBeforePages(
                """
                if (location.pathname === "/join" && !sessionStorage.wasLeft) {
                    sessionStorage.wasLeft = "1";
                    const open = IDBFactory.prototype.open;
                    IDBFactory.prototype.open = function (...values) {
                        const request = open.apply(this, values);
                        request.addEventListener("upgradeneeded", () => {
                            const busy = request.result.createObjectStore("busy");
                            const goOn = () => { busy.get(1).onsuccess = goOn; };
                            goOn();
                            window.isBusy = true;
                        });
                        return request;
                    };
                }
                """)
            let page = try await JoinPage.open(in: browser)
            try await page.shows("that it is busy", within: .seconds(40)) {
                try await browser.value(of: "return window.isBusy === true") == .bool(true)
            }
            try await browser.go(to: "about:blank")
            try await browser.go(to: Cluster.stack.publicURL + "/join")
            try await page.reaches("entry")
            _ = try await page.create()
            try await browser.reload()
            try await page.reaches("waiting")
            #expect(try await page.content(of: "#own") == "Person 1", "another guest comes in by the link")
        }
    }

    // MARK: How it is served, and how it is to use

    @Test func theJoinPageIsServedWithItsPermissions() async throws {
        let page = try await Self.ask("/join")
        #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(page.headers["permissions-policy"] == "camera=(self), microphone=(self), geolocation=()")
        #expect(
            page.headers["content-security-policy"]
                == (try await Self.ask("/listen/\(newUUID())")).headers["content-security-policy"])
        #expect(try await Self.ask("/join/\(newUUID())").body == page.body)
        // Somebody who was told a code types the server's name alone.
        #expect(try await Self.ask("/").body == page.body)
        #expect(try await Self.ask("/join", method: "HEAD").status == 200)
        #expect(try await Self.ask("/join", method: "POST").status == 405)
        for path in ["/join/", "/join/x", "/join/\(newUUID().uppercased())", "/join/\(newUUID())/x"] {
            let answer = try await Self.ask(path)
            #expect(
                answer.status == 404 && String(decoding: answer.body, as: UTF8.self).contains("There is no such page"),
                "\(path)")
            #expect(answer.headers["permissions-policy"] == "camera=(), microphone=(), geolocation=()")
        }
        #expect(try await Self.ask("/joins").status == 404)
    }

    /// The secret of a link and a code stand on the page and, of the one, in the address bar: no address that is asked for, no
    /// title, no storage and no log has them. The code is in one frame; the secret is in none.
    @Test func codesAndSecretsStayOnThePage() async throws {
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            let room = try await alice.create(for: 3)
            let fragment = String(room.link.split(separator: "#")[1])
            try await bob.join(code: room.code)
            try await Browser.open { browser in
                let carol = try await JoinPage.open(in: browser)
                try await carol.follow(room.link)
                for page in pages + [carol] { try await page.isConnected(with: 2) }
                try await alice.say("a word of its own")
                try await carol.shows(messages: ["Person 1: a word of its own"])
                try await carol.browser.reload()
                for page in [carol] + pages { try await page.isConnected(with: 2) }
                for page in pages + [carol] { try await Self.tellsNothing(page, of: [fragment, room.code]) }
            }
            for process in Cluster.stack.processes {
                let log = Cluster.stack.log(of: process)
                for secret in [fragment, "a word of its own"] { #expect(!log.contains(secret), "\(process)") }
                #expect(!log.contains("\"\(room.code)\""), "\(process)")
            }
        }
    }

    /// What the server says of somebody who comes is said once, and can get lost. The newcomer's first signal shows it.
    @Test func somebodyOfWhomNobodyToldIsFound() async throws {
        try await JoinPage.windows(2) { pages in
            try await pages[0].browser.runBeforePages(Self.losesNewcomers)
            try await pages[0].browser.reload()
            let room = try await pages[0].create()
            try await pages[1].join(code: room.code)
            for page in pages { try await page.isConnected(with: 1) }
            #expect(try await pages[0].browser.value(of: "return window.lost").integer == 1)
        }
    }

    /// No `room_event` of whoever has joined reaches the page.
    private static let losesNewcomers = """
        window.lost = 0;
        const own = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
        Object.defineProperty(WebSocket.prototype, "onmessage", {
          set(handler) {
            own.set.call(this, (event) => {
              const { type, payload } = JSON.parse(event.data);
              if (type === "room_event" && payload.event === "joined") window.lost += 1;
              else handler(event);
            });
          },
        });
        """

    private static func tellsNothing(_ page: JoinPage, of secrets: [String]) async throws {
        var sent = 0
        for (method, parameters) in try await page.browser.traffic() {
            let texts: [JSON?] =
                switch method {
                case "Network.requestWillBeSent": [parameters["request"]?["url"], parameters["request"]?["headers"]]
                case "Network.webSocketCreated": [parameters["url"]]
                case "Network.webSocketFrameSent":
                    // A frame has the code that was typed, and never a secret.
                    [parameters["response"]?["payloadData"].map { .string($0.text.replacing(secrets[1], with: "")) }]
                default: []
                }
            for text in texts.compactMap({ $0?.text }) {
                sent += 1
                for secret in secrets { #expect(!text.contains(secret), "\(method)") }
            }
        }
        #expect(sent > 20)
        let kept = try await page.browser.asyncValue(
            of: """
                const names = (await indexedDB.databases()).map(({ name }) => name);
                return [document.title, document.cookie, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), JSON.stringify(history.state), String(names)];
                """
        ).elements.compactMap(\.string)
        #expect(
            kept.count == 6 && kept[0] == "Room · Whisper" && kept[1] == "" && kept[3] == "{}" && kept[5] == "whisper")
        #expect(kept[4] == #"{"isIn":true}"#)
        for secret in secrets + ["a word of its own"] { #expect(!kept.contains { $0.contains(secret) }) }
    }

    /// By keyboard alone, on a phone and at each size, in both schemes: nothing is cut off, and axe-core finds nothing serious.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func everybodyCanUseTheRoom() async throws {
        let axe = try Axe.source()
        let (tab, enter) = ("\u{E004}", "\u{E007}")
        try await JoinPage.windows(2) { pages in
            let (alice, bob) = (pages[0], pages[1])
            try await Self.picture("entry", alice.browser)
            try await Self.examine(alice.browser, axe, "entry")
            try await bob.browser.resize(width: 320, height: 568)
            #expect(try await Self.overhang(bob.browser) == 0)
            let room = try await alice.create(for: 3)
            try await Self.examine(alice.browser, axe, "waiting")
            try await Self.picture("waiting", alice.browser)
            try await bob.browser.value(of: "document.querySelector('#code').focus()")
            try await bob.browser.press(room.code + enter)
            for page in pages { try await page.reaches("connected") }
            try await bob.browser.value(of: "document.querySelector('#message').focus()")
            try await bob.browser.press("Is the ferry running today?" + enter)
            try await alice.shows(messages: ["Person 2: Is the ferry running today?"])
            try await alice.say(
                "Not since the storm. More of this: https://example.org/a-very-long-address-that-has-no-place-to-break-anywhere-in-it"
            )
            try await bob.shows("the answer") { try await bob.messages.count == 2 }
            for isDark in [false, true] {
                try await alice.browser.prefer(dark: isDark)
                try await Self.examine(alice.browser, axe, "connected \(isDark)")
                try await Self.picture(isDark ? "dark" : "light", alice.browser)
            }
            try await Self.examine(bob.browser, axe, "phone")
            try await Self.picture("phone", bob.browser)
            #expect(try await Self.overhang(bob.browser) == 0)
            for _ in 0..<4 {
                try await bob.browser.value(of: "document.querySelector('#larger').scrollIntoView({ block: 'center' })")
                try await bob.browser.click("#larger")
                #expect(try await Self.overhang(bob.browser) == 0)
            }
            try await Self.examine(bob.browser, axe, "large")
            try await Self.picture("phone-300", bob.browser)
            var reached: [String] = []
            for _ in 0..<20 {
                try await alice.browser.press(tab)
                let focus = "document.activeElement"
                let name = try await alice.browser.value(of: "return \(focus).id || \(focus).tagName").string ?? ""
                let outline = try await alice.browser.value(of: "return getComputedStyle(\(focus)).outlineStyle").string
                #expect(name == "BODY" || name == "HTML" || outline == "solid", "\(name) is not seen to have the focus")
                reached.append(name)
            }
            for name in ["leave", "larger", "voice", "media", "renew", "copy", "message", "send"] {
                #expect(reached.contains(name), "\(name)")
            }
            try await bob.browser.value(of: "document.querySelector('#leave').focus()")
            try await bob.browser.press(enter)
            try await bob.reaches("entry")
            try await alice.reaches("waiting")
        }
    }
}
