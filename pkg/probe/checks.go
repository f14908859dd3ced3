package probe

// Checks returns all checks, in the order of the road that a request takes. A new check is a file with one function, and
// a line here.
func Checks() []Check {
	return []Check{
		configEntry(),
		configVariables(),
		configSecrets(),
		configFile(),
		configNetwork(),
		commandFound(),
		commandExecutable(),
		commandArguments(),
		netDNS(),
		netTCP(),
		netTLS(),
		httpEndpoint(),
		authAccess(),
		sessionOpen(),
		commandRuntime(), // here, because it is asked while the session opens
		sessionReuse(),
		sessionNoise(),
		protocolPing(),
		protocolUnknownMethod(),
		protocolCapabilities(),
		toolsList(),
		toolsNames(),
		toolsSchemas(),
		configTools(),
		resourcesList(),
		promptsList(),
		callHealth(),
		recoveryKill(),
		recoveryFresh(),
		recoveryRequest(),
		recoverySoak(),
		shutdownClose(),
	}
}
