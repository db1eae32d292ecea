package main

import (
	"math/big"
	"regexp"
	"strings"
)

// docs/protocol.md, N1 to N8: exact decimals, here in units of 1e-8 (shares, prices) or 1e-16 (balances).

var decimal = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

const (
	shareDecimals = 8
	cashDecimals  = 16
)

var shareLimit = new(big.Int).Mul(big.NewInt(92_233_720_368), big.NewInt(100_000_000))

// readDecimal gives the number of units of 10^-decimals, nil where it is no number, and whether decimals behind were cut off.
func readDecimal(text string, decimals int) (*big.Int, bool) {
	if !decimal.MatchString(text) {
		return nil, false
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	inexact := len(fraction) > decimals
	if inexact {
		fraction = fraction[:decimals]
	}
	units, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10)
	if !ok {
		return nil, false
	}
	return units, inexact
}

// parseDecimal gives the number of units of 10^-decimals, rounded towards zero; nil where it is no number, or rounds to 0.
func parseDecimal(text string, decimals int) *big.Int {
	units, inexact := readDecimal(text, decimals)
	if inexact && units.Sign() == 0 {
		return nil
	}
	return units
}

// parseLimit reads a price, rounded in favour of the order: a buy's down, a sell's up.
func parseLimit(text string, buy bool) *big.Int {
	units, inexact := readDecimal(text, shareDecimals)
	if units != nil && inexact && !buy && !strings.HasPrefix(text, "-") {
		units.Add(units, big.NewInt(1))
	}
	if units == nil || new(big.Int).Abs(units).Cmp(shareLimit) >= 0 {
		return nil
	}
	return units
}

// parseShares reads a number of shares.
func parseShares(text string) *big.Int {
	units := parseDecimal(text, shareDecimals)
	if units == nil || new(big.Int).Abs(units).Cmp(shareLimit) >= 0 {
		return nil
	}
	return units
}

// formatShares writes the shortest plain decimal.
func formatShares(units *big.Int) string {
	digits := units.String()
	if len(digits) <= shareDecimals {
		digits = strings.Repeat("0", shareDecimals+1-len(digits)) + digits
	}
	point := len(digits) - shareDecimals
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// cost of shares at a price, in units of 1e-16.
func cost(shares, price *big.Int) *big.Int { return new(big.Int).Mul(shares, price) }
