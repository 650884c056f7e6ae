import ArgumentParser
import Contract
import FoundationEssentials
import Glibc
import WhisperClient

/// Where the page of a profile is: a name that leads to this machine, and a port. Cookies and permissions belong to both.
struct AppAddress: Equatable, Sendable {
    /// Whether name and port stay the same from one start to the next.
    enum Policy: String, ExpressibleByArgument, CaseIterable, Sendable {
        /// They stay, unless another person has an account on this machine.
        case auto
        case kept, fresh
    }

    /// 100 random bits.
    static let labelCharacters = 20
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567")

    var label: String
    var port: Int

    /// As the header `Host` has it.
    var authority: String { "w-\(self.label).localhost:\(self.port)" }
    var origin: String { "http://\(self.authority)" }

    static func label() -> String {
        String(Sodium.random(Self.labelCharacters).map { Self.letters[Int($0 % 32)] })
    }

    // MARK: From one start to the next

    /// - Returns: `nil` if there is none, or the file is not only ours.
    static func kept(in file: String) -> AppAddress? {
        guard let bytes = try? SecretFile.read(file, for: "door", bytesMax: 64) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0].count == Self.labelCharacters, words[0].allSatisfy(Self.letters.contains),
            let port = Int(words[1]), (1...65_535).contains(port)
        else { return nil }
        return AppAddress(label: String(words[0]), port: port)
    }

    /// Its owner alone may read it. An address that cannot be kept is new at the next start.
    func keep(in file: String) {
        try? SecretFile.write(Array("\(self.label) \(self.port)\n".utf8), to: file)
    }

    /// Whether another person has an account: a user id from 1000 on, and a shell; none named is `/bin/sh`.
    static func hasOtherPeople() -> Bool {
        setpwent()
        defer { endpwent() }
        while let entry = getpwent()?.pointee {
            guard entry.pw_uid >= 1_000, entry.pw_uid != getuid(), let shell = entry.pw_shell else { continue }
            let name = String(cString: shell)
            if !["nologin", "false", "sync"].contains(where: name.hasSuffix) { return true }
        }
        return false
    }
}
