package main

import (
	"math/big"
	"regexp"
	"strings"
)

// PROTOCOL, "Numbers": exact decimals, here in units of 1e-8 (shares, prices) or 1e-16 (balances).

var decimal = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

const (
	shareDecimals = 8
	cashDecimals  = 16
)

var shareLimit = new(big.Int).Mul(big.NewInt(92_233_720_368), big.NewInt(100_000_000))

// parseDecimal gives the number of units of 10^-decimals; nil where it is no number or has more decimals than fit.
func parseDecimal(text string, decimals int) *big.Int {
	if !decimal.MatchString(text) {
		return nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		return nil
	}
	units, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10)
	if !ok {
		return nil
	}
	return units
}

// parseShares reads shares or a price.
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
