import ArgumentParser
import TerminalText
import WhisperClient

struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server", abstract: "Show the server's address, or change it when the server has moved.",
        discussion: """
            The identity stays, with all that is on this device. The address has to be a new one of the same server: another
            server knows neither you nor your friends and groups.
            """)

    @OptionGroup var options: ProfileOptions
    @OptionGroup var server: ServerOptions

    func run() async throws {
        let profile = try self.options.open()
        guard let kept = try profile.store.settings.server() else { throw self.options.problem(.missing) }
        let authority = self.server.authorityFile
        guard self.server.server != nil || authority != nil else {
            print(kept)
            return profile.close()
        }
        if self.server.server != nil { try profile.store.settings.set(server: try self.server.address()) }
        if let authority { try profile.store.settings.set(authorityFile: authority) }
        let client = try self.options.client(profile)
        do {
            try await running(client) { try await waitUntilOnline(await client.events(), within: .seconds(10)) }
        } catch let problem as Problem {
            print("The address was changed all the same. It was \(kept).")
            throw problem
        }
        print("You are online there.")
    }
}
