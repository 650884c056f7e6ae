import ArgumentParser
import Glibc
import TerminalText
import WhisperClient

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "init", abstract: "Make a new identity.")

    @OptionGroup var options: ProfileOptions
    @OptionGroup var server: ServerOptions
    @Option(
        help: ArgumentHelp(
            "Link or token that lets somebody new in.",
            discussion: "An identity that a server has refused is tried again with it."))
    var invitation: String?

    func run() async throws {
        let invitation = try self.invitation.map { text in
            guard let invitation = InvitationLink(text) else {
                throw Problem("This is no invitation, or not all of it.")
            }
            return invitation
        }
        if let invitation, Profile.exists(at: self.options.folder) { return try await self.tryAgain(with: invitation) }
        let mnemonic = Mnemonic.random()
        let profile = try create(mnemonic, self.options, self.server, invitation: invitation)
        let style = Style.output
        print("\nThese twelve words are your identity. " + style.bold("Write them down."))
        print("Whoever has them is you. Without them a lost device is a lost identity.")
        print(
            "On this device they stand in \(harmless(Profile.phraseFile(self.options.folder))), which only you can read.\n"
        )
        for row in 0..<4 {
            let cells = (0..<3).map { column in
                let number = column * 4 + row
                let word = mnemonic.words[number]
                let gap = String(repeating: " ", count: max(0, 12 - word.count))
                return style.dim(number < 9 ? " \(number + 1) " : "\(number + 1) ") + style.bold(word + gap)
            }
            print("    " + cells.joined(separator: "  "))
        }
        print("")
        try await introduce(profile, self.options)
    }

    /// An identity that no server knows yet.
    private func tryAgain(with invitation: InvitationLink) async throws {
        let profile = try self.options.open()
        guard try profile.store.settings.whisperID() == nil, let kept = try profile.store.settings.server() else {
            throw self.options.problem(.exists)
        }
        guard invitation.server == nil || invitation.server == kept else {
            throw Problem(
                harmlessLine("The invitation is for \(invitation.server ?? kept), and this identity for \(kept)."))
        }
        try profile.store.settings.set(invitation: invitation.token)
        try await introduce(profile, self.options)
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Bring an identity back with its twelve words.",
        discussion: """
            The words are asked for, or read from standard input.
            Your contacts come back with them, from the backup that only they open; messages do not.
            """)

    @OptionGroup var options: ProfileOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        do throws(ProfileError) {
            guard try !Profile.isThere(at: self.options.folder) else { throw .exists }
        } catch {
            throw self.options.problem(error)
        }
        let profile = try create(try self.ask(), self.options, self.server)
        print("")
        try await introduce(profile, self.options, isRestoring: true)
    }

    private func ask() throws -> Mnemonic {
        let isPerson = isatty(STDIN_FILENO) == 1
        while true {
            if isPerson { print("Your twelve words: ", terminator: "") }
            fflush(nil)
            guard let line = readLine() else { throw Problem("No words were given.") }
            do throws(MnemonicError) {
                return try Mnemonic(phrase: line)
            } catch {
                guard isPerson else { throw Problem(Self.describe(error)) }
                print(Self.describe(error))
            }
        }
    }

    private static func describe(_ error: MnemonicError) -> String {
        switch error {
        case .wordCount(let count): "That is \(count == 1 ? "one word" : "\(count) words"); a phrase has twelve."
        case .unknownWord(let word): "\"\(harmless(word))\" is not one of the words. Is it spelled right?"
        case .checksum: "All are good words, but not together: one is wrong, or two are swapped."
        }
    }
}

private func create(
    _ mnemonic: Mnemonic, _ options: ProfileOptions, _ server: ServerOptions, invitation: InvitationLink? = nil
) throws -> Profile {
    let address = try server.address(invited: invitation?.server)
    do throws(ProfileError) {
        return try Profile.create(
            at: options.folder, mnemonic: mnemonic, server: address, authorityFile: server.authorityFile,
            invitation: invitation?.token)
    } catch {
        throw options.problem(error)
    }
}

/// First contact with the server, which gives the identity its id, and its contacts if it had any.
private func introduce(_ profile: Profile, _ options: ProfileOptions, isRestoring: Bool = false) async throws {
    let style = Style.output
    let client = try options.client(profile)
    let events = await client.events()
    do {
        let restored = try await running(client) { () async throws -> String? in
            try await waitUntilOnline(await client.events(), within: .seconds(10))
            guard isRestoring else { return nil }
            return await describeRestoring(events)
        }
        print(
            "Your Whisper ID is " + style.bold("\(try profile.store.settings.whisperID()!)")
                + ". Give it to your friends.")
        if let restored { print(restored) }
    } catch let problem as Problem {
        if case .refused? = await client.stopReason {
            print("Your identity is made all the same; with an invitation, say `whisper init --invitation` again.")
            throw problem
        }
        let id = profile.keys.publicKeys.id(counter: 0)
        print(style.yellow("\(problem) Your identity is made all the same;"))
        print("it signs in with the next command that finds the server. Its Whisper ID will most likely be \(id).")
        if isRestoring { print("Your contacts come back then, too.") }
    }
}

/// Waits for what the backup holds.
private func describeRestoring(_ events: AsyncStream<ClientEvent>) async -> String {
    let words = await first(in: events, within: .seconds(20)) { event -> String? in
        switch event {
        case .restored(let added, let missing): describe(restored: added, missing: missing)
        case .backup(let news): describe(news)
        default: nil
        }
    }
    return words ?? "Your contacts could not be fetched yet; they come back with a command that stays connected."
}
