import ArgumentParser
import Glibc
import TerminalText
import WhisperClient

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Make a new identity.",
        discussion: "An identity that no server knows yet can be tried again, with another --server or an --invitation."
    )

    @OptionGroup var options: ProfileOptions
    @OptionGroup var server: ServerOptions
    @Option(help: "Link or token that lets somebody new in.") var invitation: String?
    @Flag(
        help: ArgumentHelp(
            "Ask for a passphrase beside the words, hidden, or read it from standard input.",
            discussion: "Words and passphrase together are the identity then; neither alone brings it back."))
    var passphrase = false

    func run() async throws {
        let invitation = try self.invitation.map { text in
            guard let invitation = InvitationLink(text) else {
                throw Problem("This is no invitation, or not all of it.")
            }
            return invitation
        }
        if invitation != nil || self.server.server != nil, Profile.exists(at: self.options.folder) {
            return try await self.tryAgain(with: invitation)
        }
        let passphrase = self.passphrase ? try Passphrase.choose() : nil
        let mnemonic = Mnemonic.random()
        let profile = try create(mnemonic, passphrase, self.options, self.server, invitation: invitation)
        let style = Style.output
        print("\nThese twelve words are your identity. " + style.bold("Write them down."))
        if passphrase == nil {
            print("Whoever has them is you. Without them a lost device is a lost identity.")
            let file = harmless(Profile.phraseFile(self.options.folder))
            print("On this device they stand in \(file), which only you can read.\n")
        } else {
            print("With your passphrase, whoever has them is you. Without either, a lost device is a lost identity.")
            print("Nothing checks a passphrase: with another one these words are somebody else.")
            print("Neither is kept on this device, and the words are not shown again.\n")
        }
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
        Self.name(invitation?.inviter)
    }

    private static func name(_ inviter: ContactLink?) {
        guard let inviter else { return }
        let person = inviter.name.map { "\(harmless($0)) (\(inviter.id))" } ?? "\(inviter.id)"
        print("\(person) invited you. Add them with this link:")
        print("whisper add '\(inviter.text(.app))'")
    }

    /// An identity that no server knows yet.
    private func tryAgain(with invitation: InvitationLink?) async throws {
        let profile = try self.options.open()
        guard try profile.store.settings.whisperID() == nil, let kept = try profile.store.settings.server() else {
            throw self.options.problem(.exists)
        }
        if self.server.server != nil {
            try profile.store.settings.set(server: try self.server.address(invited: invitation?.server))
            if let authority = self.server.authorityFile { try profile.store.settings.set(authorityFile: authority) }
        } else if let invited = invitation?.server, invited != kept {
            throw Problem(harmlessLine("The invitation is for \(invited), and this identity for \(kept)."))
        }
        if let invitation { try profile.store.settings.set(invitation: invitation.token) }
        try await introduce(profile, self.options)
        Self.name(invitation?.inviter)
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Bring an identity back with its twelve words.",
        discussion: """
            The words are asked for, or read from standard input, and so is a passphrase, hidden.
            Your contacts come back with them, from the backup that only they open; messages do not.
            """)

    @OptionGroup var options: ProfileOptions
    @OptionGroup var server: ServerOptions
    @Flag(help: "Read a passphrase, too, where there is no terminal: the line behind the words.")
    var passphrase = false

    func run() async throws {
        do throws(ProfileError) {
            guard try !Profile.isThere(at: self.options.folder) else { throw .exists }
        } catch {
            throw self.options.problem(error)
        }
        let mnemonic = try self.ask()
        let isAsked = self.passphrase || isatty(STDIN_FILENO) == 1
        let passphrase = isAsked ? try Passphrase.ask("Your passphrase, or Enter if you have none: ") : nil
        let profile = try create(mnemonic, passphrase, self.options, self.server)
        print("")
        try await introduce(profile, self.options, isRestoring: true)
        guard passphrase != nil else { return }
        print("If you know yourself by another Whisper ID, the passphrase was another one: nothing checks it.")
        print("Then remove \(harmless(self.options.folder)), and restore once more.")
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

/// A passphrase beside the words. It is never an argument, which other programs of the machine could read.
private enum Passphrase {
    /// - Returns: `nil` for an empty line.
    static func ask(_ prompt: String) throws -> String? {
        guard let line = readHiddenLine(prompt) else { throw Problem("No passphrase was given. Nothing was made.") }
        guard !line.isEmpty else { return nil }
        guard Mnemonic.isPassphrase(line) else {
            throw Problem(
                "A passphrase has at most \(Mnemonic.passphraseBytes.upperBound) characters, and only letters "
                    + "without accents, digits, spaces and the signs of an English keyboard. Nothing was made.")
        }
        return line
    }

    /// Asks twice at a terminal: nobody sees what is typed.
    static func choose() throws -> String {
        guard let chosen = try self.ask("A passphrase beside the words: ") else {
            throw Problem("The passphrase is empty. Nothing was made.")
        }
        guard try isatty(STDIN_FILENO) == 0 || chosen == self.ask("The same once more: ") else {
            throw Problem("These were two passphrases. Nothing was made.")
        }
        return chosen
    }
}

/// - Parameter passphrase: if there is one, the profile is sealed with a key beside it: a plain one keeps words alone.
private func create(
    _ mnemonic: Mnemonic, _ passphrase: String?, _ options: ProfileOptions, _ server: ServerOptions,
    invitation: InvitationLink? = nil
) throws -> Profile {
    let address = try server.address(invited: invitation?.server)
    do throws(ProfileError) {
        guard try !Profile.isThere(at: options.folder) else { throw .exists }
    } catch {
        throw options.problem(error)
    }
    let key = try passphrase.map { _ in try KeyFile.make(in: options.folder) }
    do throws(ProfileError) {
        return try Profile.create(
            at: options.folder, mnemonic: mnemonic, passphrase: passphrase ?? "", server: address,
            authorityFile: server.authorityFile, invitation: invitation?.token,
            key: key.flatMap { StoreKey(.raw, $0) })
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
            print(
                isRestoring
                    ? "Nobody with these keys is known there. If you had a passphrase, or another one, remove \(harmless(options.folder)), and restore once more."
                    : "Your identity is made all the same; with an invitation, say `whisper init --invitation` again.")
            throw problem
        }
        let id = profile.keys.publicKeys.id(counter: 0)
        print(style.yellow("\(problem) Your identity is made all the same;"))
        print("it signs in with the next command that finds the server. Its Whisper ID will most likely be \(id).")
        if isRestoring { print("Your contacts come back then, too.") }
        print("If the address was wrong: whisper init --server ADDRESS.")
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
