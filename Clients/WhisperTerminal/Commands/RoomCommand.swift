import ArgumentParser
import Contract
import TerminalText
import WhisperClient

struct RoomCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room", abstract: "Meet others, whose devices then talk with each other alone.",
        subcommands: [
            RoomCreateCommand.self, RoomJoinCommand.self, RoomListCommand.self, RoomLeaveCommand.self,
            RoomCloseCommand.self, RoomCodeCommand.self, RoomPokeCommand.self, RoomRemoveCommand.self,
        ])
}

/// How a room is shown.
struct RoomShowing: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Speak JSON, one object a line, with a WebRTC stack that runs beside this program.",
            discussion: "docs/rooms.md describes it. Without a stack the command shows who comes and goes."))
    var signals = false
    @Option(help: "How the others see you. The server does not learn it.") var name: String?
}

struct RoomCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Open a room and stay in it.",
        discussion: "Shows the code and the link that let others in. Ctrl-C leaves; with others in it the room goes on."
    )

    @OptionGroup var options: ProfileOptions
    @OptionGroup var showing: RoomShowing
    @Option(help: "How many may be in it, 2 to 8.") var participants = Int(RoomLimits.participantsDefault)
    @OptionGroup var code: CodeOptions

    func validate() throws {
        guard RoomLimits.participants.contains(Int64(self.participants)) else {
            throw ValidationError("A room has 2 to 8 participants.")
        }
        try self.code.check()
    }

    func run() async throws {
        let wish = RoomWish(participantsMax: self.participants, code: self.code.wish, secret: .random())
        try await visit(self.options, self.showing, .new(wish))
    }
}

struct RoomJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Come into a room, or back into it, and stay.",
        discussion: "ROOM is a code, a link, or the id of a room in which you have a seat. Ctrl-C leaves it.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var showing: RoomShowing
    @Option(help: "Asked for besides some codes.") var pin: String?
    @Argument(help: "Code, link or id.") var room: String

    func run() async throws {
        let door: RoomDoor
        if let link = RoomLink(self.room) {
            door = .link(self.room, of: link.room)
        } else if JoinCode(self.room) != nil {
            door = .code(self.room, pin: self.pin)
        } else {
            door = .seat(try roomID(self.room))
        }
        try await visit(self.options, self.showing, door)
    }
}

struct RoomListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the rooms in which you have a seat.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var list: ListOptions

    func run() async throws {
        guard !self.list.json else {
            return print(
                json: try await asking(self.options, describe(room:)) { core in
                    try await core.listed("room_list", "rooms")
                })
        }
        let lines = try await asking(self.options, describe(room:)) { core in
            let rooms = try await core.rooms()
            return rooms.isEmpty ? ["You have a seat in no room."] : rooms.flatMap { describe($0) }
        }
        for line in lines { printLine(line) }
    }
}

struct RoomLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Give up your seat in a room.",
        discussion: "Whoever hosts it hands it over; the last one's leaving ends it.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Its id.") var room: String

    func run() async throws {
        let id = try roomID(self.room)
        try await asking(self.options, describe(room:)) { core in try await core.leaveRoom(id) }
    }
}

struct RoomCloseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "close", abstract: "End a room that you host, for everybody.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Its id.") var room: String

    func run() async throws {
        let id = try roomID(self.room)
        try await asking(self.options, describe(room:)) { core in try await core.closeRoom(id) }
    }
}

struct RoomCodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "code", abstract: "Draw another code for a room that you host.",
        discussion: "The code before opens nothing more. --expires 0: the room has none.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var code: CodeOptions
    @Argument(help: "Its id.") var room: String

    func validate() throws { try self.code.check(mayBeNone: true) }

    func run() async throws {
        let id = try roomID(self.room)
        let wish = self.code.wish
        let code = try await asking(self.options, describe(room:)) { core in
            try await core.renewCode(wish, of: id)
        }
        printLine(code.map { "Code: \($0)" } ?? "The room has no code now.")
    }
}

struct RoomPokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "poke", abstract: "Wake those who have a seat in a room and are away.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Its id.") var room: String

    func run() async throws {
        let id = try roomID(self.room)
        let woken = try await asking(self.options, describe(room:)) { core in try await core.pokeRoom(id) }
        printLine(woken == 1 ? "1 is woken." : "\(woken) are woken.")
    }
}

struct RoomRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Send somebody out of a room that you host.",
        discussion: "They cannot come back by the same code or link; another code lets them in.")

    @OptionGroup var options: ProfileOptions
    @Argument(help: "Its id.") var room: String
    @Argument(help: "Their Whisper ID, or the id of a guest.") var participant: String

    func run() async throws {
        let id = try roomID(self.room)
        guard let participant = PrincipalID(self.participant) else {
            throw Problem("\"\(self.participant)\" is nobody's id. `whisper room list` shows them.")
        }
        try await asking(self.options, describe(room:)) { core in try await core.remove(participant, from: id) }
    }
}

/// The code that a host wants.
struct CodeOptions: ParsableArguments {
    @Option(help: "Digits of the code: 6, 8 or 10; 0 for none.") var digits = Int(RoomLimits.codeDigitsDefault)
    @Option(help: "Seconds for which the code lets people in.") var expires = Int(RoomLimits.codeTTLDefault)
    @Option(help: "4 to 12 digits that are asked for besides the code.") var pin: String?

    var wish: RoomCodeWish { RoomCodeWish(digits: self.digits, seconds: self.expires, pin: self.pin) }

    /// - Parameter mayBeNone: 0 seconds are no code.
    func check(mayBeNone: Bool = false) throws {
        guard RoomLimits.codeDigits.contains(Int64(self.digits)) else {
            throw ValidationError("A code has 6, 8 or 10 digits.")
        }
        let least = mayBeNone ? 0 : RoomLimits.codeTTL.lowerBound
        guard (least...RoomLimits.codeTTL.upperBound).contains(Int64(self.expires)) else {
            throw ValidationError("A code is good for \(RoomLimits.codeTTL.upperBound) seconds at most.")
        }
        guard let pin = self.pin else { return }
        guard RoomLimits.pinCharacters.contains(pin.count), pin.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            throw ValidationError("A pin has 4 to 12 digits.")
        }
    }
}

private func roomID(_ text: String) throws -> UUIDText {
    guard let id = UUIDText(text.lowercased()) else {
        throw Problem("\"\(text)\" is no room. `whisper room list` shows yours.")
    }
    return id
}

/// Enters a room and stays until the user leaves it, or it ends.
private func visit(_ options: ProfileOptions, _ showing: RoomShowing, _ door: RoomDoor) async throws {
    let end = try await options.talk { core in
        try await waitUntilOnline(core.events(), within: .seconds(20))
        do {
            return try await untilInterrupted { try await stay(core, showing, door) } ?? .left
        } catch let refusal as CoreClient.Refusal {
            throw Problem(describe(entering: refusal))
        }
    }
    switch end {
    case .left, .stopped(.closed): return
    case .over(let end): throw Problem(describe(end))
    case .stopped(let reason): throw Problem(describe(reason))
    }
}

private func stay(_ core: CoreClient, _ showing: RoomShowing, _ door: RoomDoor) async throws -> RoomEnd {
    let events = core.events()
    if let name = showing.name { _ = try await core.answered("room_name") { json in json.add("name", name) } }
    let room = try await core.enter(door)
    let end =
        showing.signals
        ? try await RoomSignals(core: core, room: room).run(events) : try await RoomWatch(room: room).run(events)
    if case .left = end { try? await core.leaveRoom(room.id) }
    return end
}
