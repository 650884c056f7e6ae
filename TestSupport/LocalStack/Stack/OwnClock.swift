import Foundation

/// The wall clock of one process, by libfaketime (its man page names the variables): a file says by how many seconds it is off.
/// Clocks that only go forward are left alone, as when somebody sets a machine's time.
package struct OwnClock {
    private let file: String
    /// In front of libfaketime: says why it is needed (CKernelTimers/timers.c).
    private let timers: String

    private static let library = "/usr/lib/\(Self.architecture)-linux-gnu/faketime/libfaketimeMT.so.1"

    #if arch(arm64)
    private static let architecture = "aarch64"
    #else
    private static let architecture = "x86_64"
    #endif

    /// Whether the library is here.
    package static var isAvailable: Bool { FileManager.default.fileExists(atPath: self.library) }

    /// - Parameter programs: the folder of what was built.
    init(of process: StackProcess, in folder: String, programs: String) {
        self.file = "\(folder)/clock-\(process)"
        self.timers = "\(programs)/libkerneltimers.so"
    }

    var environment: [String: String] {
        [
            "LD_PRELOAD": "\(self.timers):\(Self.library)", "FAKETIME_TIMESTAMP_FILE": self.file,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            // Seconds between two looks into the file.
            "FAKETIME_CACHE_DURATION": "1",
        ]
    }

    /// - Throws: `LaunchError.file`, and `.missing` where the loader would go on without a library.
    func set(offBy seconds: Int) throws(LaunchError) {
        for library in [self.timers, Self.library] where !FileManager.default.fileExists(atPath: library) {
            throw .missing(program: library)
        }
        do {
            try Data("\(seconds < 0 ? "-" : "+")\(abs(seconds))\n".utf8).write(
                to: URL(fileURLWithPath: self.file), options: .atomic)
        } catch {
            throw .file(self.file, reason: error.localizedDescription)
        }
    }

    /// Removes the files that the library leaves in shared memory for a killed process.
    static func removeTraces(of pid: pid_t) {
        for name in ["faketime_shm_\(pid)", "sem.faketime_sem_\(pid)"] {
            try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)")
        }
    }
}
