import Configuration
import Logging
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite struct SettingsTests {
    private func settings(_ environment: [String: String]) -> Settings {
        Settings(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment)))
    }

    @Test func keysAreReadFromTheEnvironmentInCapitals() throws {
        let settings = self.settings([
            "OPS_PORT": "8090", "REDIS_PASSWORD": "s", "RATE_LIMIT_SCALE": "2.5", "LOG_LEVEL": "debug",
            "TRUSTED_PROXIES": "10.0.0.1, ::1 ,,",
        ])
        #expect(try settings.opsAddress() == ListenAddress(host: "127.0.0.1", port: 8_090))
        #expect(try settings.redis().port == 6_379)
        #expect(try settings.redis().password?.revealed == "s")
        #expect(try settings.rateLimitScale() == 2.5)
        #expect(try settings.choice("log.level", default: Logger.Level.notice) == .debug)
        #expect(settings.trustedProxies() == ["10.0.0.1", "::1"])
        #expect(try settings.instance() == 1)
    }

    @Test(arguments: ["0", "65536", "80x", "8 0", "1e3", "-1"])
    func aValueOutsideItsRangeIsNamedWithKeyAndRange(value: String) {
        let error = #expect(throws: SettingsError.self) { try self.settings(["OPS_PORT": value]).opsAddress() }
        #expect(error?.description == "OPS_PORT is \"\(value)\", must be an integer in 1...65535")
    }

    @Test func aNumberIsNotTakenForItsDefaultWhenItIsMalformed() {
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "fast"]).rateLimitScale() }
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "nan"]).rateLimitScale() }
        #expect(throws: SettingsError.self) {
            try self.settings(["LOG_LEVEL": "loud"]).choice("log.level", default: Logger.Level.notice)
        }
    }

    @Test func aRequiredKeyMustBeSetAndNotEmpty() {
        for environment in [[:], ["OPS_PORT": ""]] {
            let error = #expect(throws: SettingsError.self) { try self.settings(environment).opsAddress() }
            #expect(error?.description == "OPS_PORT must be set")
        }
        #expect(throws: SettingsError.missing(key: "postgres.url")) { try self.settings([:]).postgres() }
    }

    @Test func anOptionalSecretMayBeAbsent() throws {
        #expect(try self.settings([:]).redis().password == nil)
    }
}
