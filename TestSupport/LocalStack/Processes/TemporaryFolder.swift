import Foundation

/// A new folder of the system's temporary directory, for one test or one stack.
package struct TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter name: part of the folder's name, for whoever finds it.
    package init(named name: String) throws(LaunchError) { try self.init(named: name, in: "/tmp") }

    /// In memory where that has room (a container may have 64 MB), else as the others.
    static func inMemory(named name: String, bytes: Int) throws(LaunchError) -> TemporaryFolder {
        let memory = "/dev/shm"
        var room = statvfs()
        let fits = statvfs(memory, &room) == 0 && Int(room.f_bavail) * Int(room.f_frsize) >= bytes
        return try TemporaryFolder(named: name, in: fits ? memory : "/tmp")
    }

    private init(named name: String, in parent: String) throws(LaunchError) {
        var template = Array("\(parent)/whisper-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .file(parent, reason: String(cString: strerror(errno)))
        }
        self.path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // Servers that run under another account must be able to pass.
        chmod(self.path, 0o755)
    }

    /// With `KEEP_FOLDERS=1` all of them stay, for whoever wants to read the logs of a test that failed.
    static let areKept = ProcessInfo.processInfo.environment["KEEP_FOLDERS"] != nil

    package func remove() {
        guard !Self.areKept else { return }
        try? FileManager.default.removeItem(atPath: self.path)
    }
}

/// Makes a folder and its parents; fine if it is there.
func makeFolder(_ path: String) throws(LaunchError) {
    do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
        throw .file(path, reason: "cannot be made: \(error.localizedDescription)")
    }
}
